"""Words to text, with each punctuation mark where a writer puts it."""

import tensorflow as tf

from keras_attn.text.segmentation.split import CHINESE
from keras_attn.text.segmentation.split import character_class

_LETTER = r"[\p{L}\p{M}\p{N}]"
# Signs of East Asian text, and its syllables, which are no words of their own.
_SIGNS = "3001-3003 3008-3011 3014-301f ff01-ff03 ff05-ff0c ff0e-ff0f ff1a-ff20"
_ALONE = character_class(f"{CHINESE} {_SIGNS}")
_KANA = character_class("3041-3096 3099-309f 30a1-30fa 30fc-30ff")

# What becomes of the words beside a space. The words are taken along, so that
# places which share one are found in a second pass.
_BETWEEN_WORDS = (
    (f"([{_ALONE}]) ([{_ALONE}{_KANA}])", r"\1\2"),
    (f"([{_KANA}]) ([{_ALONE}])", r"\1\2"),
    (r"([0-9]) ([.:]) ([0-9])", r"\1\2\3"),
    (r"\b([0-9]{1,3}) , ([0-9]{3})\b", r"\1,\2"),
    (rf"({_LETTER}) ([-/]) ({_LETTER})", r"\1\2\3"),
    # James's, but the dogs' bones.
    (rf"({_LETTER}) (['’]) ((?i:d|ll|m|re|s|t|ve)(?: |$))", r"\1\2\3"),
    (rf"({_LETTER}[sS]) (['’])( |$)", r"\1\2\3"),
    (rf"({_LETTER}) (['’]) ({_LETTER})", r"\1\2\3"),
)
_BESIDE_MARKS = (
    (r" '( |$)", r"'\1"),
    (r"^' ", "'"),
    (r"([$#]) ([0-9])", r"\1\2"),
    (r'" ([^"]+) "', r'"\1"'),
    (r"„ ([^„“]+) “", r"„\1“"),
    (r" ([,.;:!?%…)\]}»”’])", r"\1"),
    (r"([(\[{«“„‘¿¡]) ", r"\1"),
)


def join_punctuation(strings):
    """Take out the spaces that no writer puts beside punctuation.

        he said , " don ' t ! "    becomes    he said, "don't!"

    No space before , . ; : ! ? % … ) ] } » ” ’ and none after ( [ { « “ „ ‘ ¿
    ¡; none inside a pair of " or of „ “. Between letters or digits - and / have
    none on either side, between digits . and : have none, nor has a comma
    before three digits; $ and # have none before a digit. ' and ’ are
    apostrophes: none on either side between letters (don't, l'homme), but one
    after a word in s, unless d, ll, m, re, s, t or ve follows (the dogs' bones,
    James's). Chinese characters have none between them and beside kana. All
    other signs, dashes among them, keep theirs.

    Args:
        strings: (batch,) words with one space between them, every punctuation
            mark a word, as `split_words` finds them.

    Returns:
        (batch,) strings, of which `split_words` makes the same words.
    """
    for pattern, new in (*_BETWEEN_WORDS, *_BETWEEN_WORDS, *_BESIDE_MARKS):
        strings = tf.strings.regex_replace(strings, pattern, new)
    return strings
