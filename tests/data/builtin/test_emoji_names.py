import itertools
import re
import sys
import types
import unicodedata

import emoji
import pytest

from keras_attn.data.builtin.emoji_names import emoji_phrases

SPLITS = ("train", "validation", "test")
TONES = {"light", "medium-light", "medium", "medium-dark", "dark"}
PAIRS = [("en", "fr"), ("de", "es"), ("pt", "it"), ("ja", "zh"), ("ar", "ru")]
every_pair = pytest.mark.parametrize(("source", "target"), PAIRS)


def pairs(split, **languages):
    dataset = emoji_phrases(split, **languages)
    return [
        (source.decode(), target.decode())
        for batch in dataset.batch(5000).as_numpy_iterator()
        for source, target in zip(*batch.values(), strict=True)
    ]


def test_pairs_are_scalar_strings():
    spec = emoji_phrases().element_spec
    assert set(spec) == {"source", "target"}
    assert all(part.shape == () for part in spec.values())
    assert all(part.dtype == "string" for part in spec.values())


def test_there_are_as_many_as_documented():
    assert len(emoji_phrases("train")) >= 3000
    assert len(emoji_phrases("validation")) >= 380
    assert len(emoji_phrases("test")) >= 380


def test_names_are_readable_phrases():
    everything = dict(itertools.chain(*map(pairs, SPLITS)))
    assert everything["thumbs up"] == "pouce vers le haut"
    assert everything["ant"] == "fourmi"
    assert everything["man cook dark skin tone"] == "cuisinier peau foncée"
    german = dict(pairs("train", source="en", target="de"))
    assert german["couple with heart man man"] == "liebespaar mann, mann"


@every_pair
def test_no_phrase_needs_cleaning(source, target):
    for split in SPLITS:
        for phrase in itertools.chain(
            *pairs(split, source=source, target=target)
        ):
            assert phrase == " ".join(phrase.split())
            assert phrase == unicodedata.normalize("NFC", phrase)
            assert not re.search(r"[:_]|,\S", phrase)
            assert phrase


@every_pair
def test_no_phrase_of_a_held_out_split_is_in_another(source, target):
    splits = [pairs(split, source=source, target=target) for split in SPLITS]
    for one, other in itertools.combinations(splits, 2):
        for side in (0, 1):
            phrases = {pair[side] for pair in one}
            assert phrases.isdisjoint(pair[side] for pair in other)
    for split in splits:
        assert len(set(split)) == len(split) > 300


def parts(phrase):
    """What an English name says without its skin tones, and these."""
    tones = re.findall(r"(\S+) skin tone", phrase)
    return re.sub(r" \S+ skin tone", "", phrase), tuple(tones)


def test_what_is_held_out_are_combinations_of_parts_in_train():
    train = [parts(phrase) for phrase, _ in pairs("train")]
    plain, tones = map(set, zip(*train, strict=True))
    for split in ("validation", "test"):
        held_out = [parts(phrase) for phrase, _ in pairs(split)]
        assert {tone for _, tones in held_out for tone in tones} == TONES
        for thing, toned in held_out:
            assert toned
            assert thing in plain
            assert toned in tones


@pytest.mark.parametrize("target", ["fr", "de", "es", "it", "pt"])
def test_every_word_of_a_held_out_phrase_is_in_train(target):
    for side in (0, 1):
        known = {
            word
            for pair in pairs("train", target=target)
            for word in pair[side].split()
        }
        for split in ("validation", "test"):
            for pair in pairs(split, target=target):
                assert known.issuperset(pair[side].split()), pair


def test_the_split_of_an_emoji_is_the_same_in_every_language():
    french = {phrase for phrase, _ in pairs("test", target="fr")}
    assert french == {phrase for phrase, _ in pairs("test", target="ko")}


WAVES = [f"\U0001f44b{chr(tone)}" for tone in range(0x1F3FB, 0x1F400)]


def entry(english, french, status=2):
    return {"status": status, "en": f":{english}:", "fr": f":{french}:"}


@pytest.fixture
def small_emoji(monkeypatch):
    """A package with a hand, its five skin tones, and what a test adds."""
    data = {"\U0001f44b": entry("hand", "main")}
    data |= {
        wave: entry(f"hand_{n}", f"main_{n}") for n, wave in enumerate(WAVES)
    }
    module = types.SimpleNamespace(
        EMOJI_DATA=data,
        LANGUAGES=["en", "fr"],
        STATUS=emoji.STATUS,
        config=types.SimpleNamespace(load_language=lambda languages: None),
    )
    monkeypatch.setitem(sys.modules, "emoji", module)
    return data


def test_a_family_is_shared_out(small_emoji):
    assert [len(pairs(split)) for split in SPLITS] == [4, 1, 1]
    assert ("hand", "main") in pairs("train")


def test_a_new_emoji_leaves_the_others_where_they_are(small_emoji):
    before = [pairs(split) for split in SPLITS]
    small_emoji["\U0001f408"] = entry("cat", "chat")
    after = [pairs(split) for split in SPLITS]
    assert after == [[*before[0], ("cat", "chat")], *before[1:]]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("split", ["validation", "test"])
def test_a_phrase_that_train_has_is_not_held_out(small_emoji, split, side):
    ((*pair,),) = pairs(split)
    pair[1 - side] = "other"
    small_emoji["\U0001f408"] = entry(*pair)
    assert pairs(split) == []
    assert tuple(pair) in pairs("train")


def test_a_phrase_of_test_is_not_in_validation(small_emoji):
    ((english, _),) = pairs("test")
    ((validation, _),) = pairs("validation")
    for names in small_emoji.values():
        if names["en"] == f":{validation.replace(' ', '_')}:":
            names["en"] = f":{english.replace(' ', '_')}:"
    assert len(pairs("test")) == 1
    assert pairs("validation") == []


def test_a_pair_is_there_once_and_other_spellings_do_not_count(small_emoji):
    small_emoji["\U0001f408"] = entry("cat", "chat")
    small_emoji["\U0001f431"] = entry("cat", "chat")
    small_emoji["\U0001f436"] = entry("dog", "chien", status=4)
    train = pairs("train")
    assert train.count(("cat", "chat")) == 1
    assert ("dog", "chien") not in train


def test_an_emoji_without_a_name_is_left_out(small_emoji):
    small_emoji["\U0001f408"] = {"status": 2, "en": ":cat:"}
    assert len(pairs("train")) == 4


@pytest.mark.parametrize("side", ["source", "target"])
def test_an_unknown_language_is_told_the_languages_there_are(side):
    with pytest.raises(ValueError, match=f"`{side}`.*ar, de, en.*'tlh'"):
        emoji_phrases(**{side: "tlh"})


def test_a_language_is_not_translated_into_itself():
    with pytest.raises(ValueError, match=r"two languages.*'fr'"):
        emoji_phrases(source="fr", target="fr")


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "emoji", None)
    with pytest.raises(ImportError, match=r"keras_attn\[data\]"):
        emoji_phrases()
