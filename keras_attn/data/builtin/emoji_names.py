"""The names of emoji, which are short phrases in many languages."""

import unicodedata
from collections import defaultdict

import numpy as np
import tensorflow as tf

from keras_attn.data.builtin.splits import check_split
from keras_attn.extras import require

SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))

# An emoji is written with or without this character; it changes no name.
VARIATION_SELECTOR = "\ufe0f"

# One in five of the skin tones of every emoji goes to each held-out split.
SHARE = 5


def emoji_phrases(
    split: str = "train", *, source: str = "en", target: str = "fr"
) -> tf.data.Dataset:
    """What emoji are called in two languages: real phrases of a few words.

    "thumbs up dark skin tone" is "pouce vers le haut peau foncée". What is held
    out are combinations: an emoji that has skin tones is in "train" plain and
    with three tones of five, and with one tone each in "validation" and "test"
    (the split of an emoji is the same in every language). A held-out phrase,
    source or target, is in no other split.

    With emoji 2.16 there are 3,156 pairs of English and French to train on and
    408 in each of the other splits. The names are those of Unicode's CLDR as
    the package `emoji` carries them.

    Args:
        split: "train", "validation" or "test".
        source: A language, such as "en", "de" or "ja".
        target: Another.

    Returns:
        `{"source", "target"}` scalar strings in UTF-8, composed (NFC).

    Raises:
        ImportError: If `emoji` is not installed.
    """
    check_split(split)
    emoji = require("emoji", extra="data")
    for name, language in (("source", source), ("target", target)):
        if language not in emoji.LANGUAGES:
            raise ValueError(
                f"`{name}` must be one of {', '.join(sorted(emoji.LANGUAGES))}."
                f" Received: {name}={language!r}."
            )
    if source == target:
        raise ValueError(
            "`source` and `target` must be two languages. "
            f"Received: {source!r} for both."
        )
    emoji.config.load_language([source, target])
    parts = defaultdict(list)
    for symbol, part in _parts(emoji).items():
        names = emoji.EMOJI_DATA[symbol]
        if source in names and target in names:
            parts[part].append((_clean(names[source]), _clean(names[target])))
    pairs = _without_repeats(parts)[split]
    return tf.data.Dataset.from_tensor_slices(
        {
            "source": [source for source, _ in pairs],
            "target": [target for _, target in pairs],
        }
    )


def _parts(emoji):
    """Every emoji, in its one recommended spelling, and its split."""
    known = {emoji.STATUS["component"], emoji.STATUS["fully_qualified"]}
    parts = {}
    families = defaultdict(list)
    for symbol, data in emoji.EMOJI_DATA.items():
        if data["status"] in known:
            parts[symbol] = "train"
            plain = "".join(
                character
                for character in symbol
                if character not in SKIN_TONES | {VARIATION_SELECTOR}
            )
            if plain and SKIN_TONES.intersection(symbol):
                families[plain].append(symbol)
    for plain, toned in families.items():
        # Seeded by the emoji itself: new ones leave the others where they are.
        rng = np.random.default_rng([ord(character) for character in plain])
        toned = rng.permutation(sorted(toned)).tolist()
        share = len(toned) // SHARE
        parts.update(dict.fromkeys(toned[:share], "test"))
        parts.update(dict.fromkeys(toned[share : 2 * share], "validation"))
    return parts


def _clean(name):
    """Write `:mann,_mann:` as `mann, mann`."""
    phrase = name[1:-1].replace("_", " ").replace(",", ", ")
    return unicodedata.normalize("NFC", " ".join(phrase.split()))


def _without_repeats(parts):
    """Distinct pairs; none that shares a phrase with an earlier split."""
    taken = set()
    kept = {}
    for split in ("train", "test", "validation"):
        kept[split] = [
            (source, target)
            for source, target in dict.fromkeys(parts[split])
            if ("source", source) not in taken
            and ("target", target) not in taken
        ]
        for source, target in kept[split]:
            taken |= {("source", source), ("target", target)}
    return kept
