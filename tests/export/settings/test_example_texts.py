import pytest

from keras_attn.export.settings import example_texts
from keras_attn.text import BytePairTokenizer
from keras_attn.text import ByteTokenizer
from keras_attn.text import CharacterTokenizer
from keras_attn.text import WordPieceTokenizer
from keras_attn.text import WordTokenizer
from keras_attn.text.segmentation.byte_letters import BYTE_LETTERS
from keras_attn.text.special_tokens import DEFAULT

TOKENIZERS = {
    "byte": ByteTokenizer(),
    "character": CharacterTokenizer([*DEFAULT, *"abcdefg .?"]),
    "word": WordTokenizer([*DEFAULT, ".", "one", "two", "three"]),
    "word_piece": WordPieceTokenizer([*DEFAULT, "un", "##able", "!", "cafe"]),
    "byte_pair": BytePairTokenizer(
        [*DEFAULT, *BYTE_LETTERS, "aa", "aaaa"], ["a a", "aa aa"]
    ),
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_sentences_are_text_of_known_words(name):
    tokenizer = TOKENIZERS[name]
    short, *longer = example_texts.sentences(tokenizer)
    assert len(tokenizer(short)) >= 1
    for text in (short, *longer):
        assert text.decode().strip()
        assert tokenizer.unknown_id not in tokenizer(text).numpy()
    assert len({short, *longer}) == 3


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("room", [1, 7, 30])
def test_too_long_is_longer_than_the_room(name, room):
    tokenizer = TOKENIZERS[name]
    assert len(tokenizer(example_texts.too_long(tokenizer, room))) > room


def test_signs_will_do_where_there_are_no_words():
    signs = WordTokenizer([*DEFAULT, "!", "?"])
    assert example_texts.sentences(signs)[0] == b"?"


def test_a_vocabulary_of_which_no_text_can_be_made_is_refused():
    nothing = WordTokenizer([*DEFAULT, " "])
    with pytest.raises(ValueError, match="Give a smaller length"):
        example_texts.too_long(nothing, 3)
