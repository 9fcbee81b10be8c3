import pytest
import tensorflow as tf

from keras_attn.export.graph.masked_text import Holes
from keras_attn.text import BytePairTokenizer
from keras_attn.text import ByteTokenizer
from keras_attn.text import WordPieceTokenizer
from keras_attn.text.segmentation.byte_letters import BYTE_LETTERS
from keras_attn.text.special_tokens import DEFAULT
from tests.export import texts

MASK = 4


def byte_pairs():
    return BytePairTokenizer(
        [*DEFAULT, *BYTE_LETTERS, "Ġa", "Ġb"], ["Ġ a", "Ġ b"]
    )


def fill(tokenizer, text, *fills):
    """Fill the first holes of one text with tokens, by their ids."""
    holes = Holes(tokenizer)
    parts, *_ = holes.read(tf.constant([text]))
    ids = tf.reshape(tf.constant(fills, tf.int32), [-1, 1])
    _, best = holes.spell(ids, tf.constant([len(fills)], tf.int64))
    return holes.fill(parts, best).numpy()[0].decode()


def test_holes_become_mask_and_the_rest_is_tokenized():
    tokenizer = texts.tokenizer()
    strings = ["the [MASK] sat", "[MASK]", "", "cat[MASK][MASK]s", "a", b"\xff"]
    parts, ids, valid = Holes(tokenizer).read(tf.constant(strings))
    the, cat, sat, a = map(tokenizer.id_of, ("the", "cat", "sat", "a"))
    unknown = tokenizer.unknown_id
    assert ids.to_list() == [
        [the, MASK, sat],
        [MASK],
        [],
        [cat, MASK, MASK, unknown],
        [a],
        [],
    ]
    assert (parts.row_lengths() - 1).numpy().tolist() == [1, 1, 0, 2, 0, 0]
    assert valid.numpy().tolist() == [True, True, False, True, True, False]


def test_a_batch_without_rows_can_be_read_and_filled():
    holes = Holes(texts.tokenizer())
    parts, ids, _ = holes.read(tf.zeros([0], tf.string))
    assert ids.shape[0] == 0
    best = tf.ragged.constant([], ragged_rank=1, dtype=tf.string)
    assert holes.fill(parts, best).shape == (0,)


def test_all_but_the_holes_stays_as_it_came():
    tokenizer = texts.tokenizer(lowercase=True)
    cat, s = tokenizer.id_of("cat"), tokenizer.id_of("##s")
    assert fill(tokenizer, "  Zoë's  [MASK]\n!", cat) == "  Zoë's  cat\n!"
    assert fill(tokenizer, "[MASK][MASK]", cat, s) == "cats"
    assert fill(tokenizer, "no holes") == "no holes"


def test_a_piece_of_a_word_joins_the_word_before_it():
    tokenizer = texts.tokenizer()
    piece = tokenizer.id_of("##s")
    assert fill(tokenizer, "the mat [MASK] !", piece) == "the mats !"
    assert fill(tokenizer, "the mat[MASK]", piece) == "the mats"


def test_a_mark_that_is_no_piece_stays():
    tokenizer = WordPieceTokenizer([*DEFAULT, "##"])
    assert fill(tokenizer, "a [MASK] b", 5) == "a ## b"
    tokenizer = ByteTokenizer()
    assert fill(tokenizer, "a [MASK]!", 5 + ord("#")) == "a #!"


def test_holes_that_were_cut_off_stay():
    tokenizer = texts.tokenizer()
    text = "[MASK] a [MASK] [MASK]"
    assert fill(tokenizer, text, tokenizer.id_of("the")) == (
        "the a [MASK] [MASK]"
    )


def test_the_space_before_a_hole_belongs_to_it_among_byte_pairs():
    tokenizer = byte_pairs()
    whole = tokenizer(["x a b"]).to_list()[0]
    assert tokenizer.vocabulary[whole[1]] == "Ġa"
    _, ids, _ = Holes(tokenizer).read(tf.constant(["x [MASK] b"]))
    assert ids.to_list() == [[whole[0], MASK, whole[2]]]
    assert fill(tokenizer, "x [MASK] b", whole[1]) == "x a b"
    assert fill(tokenizer, "x [MASK] [MASK]", whole[1]) == "x a [MASK]"


def test_bytes_of_neighbouring_holes_make_one_character():
    tokenizer = ByteTokenizer()
    assert fill(tokenizer, "[MASK][MASK]", 5 + 0xC3, 5 + 0xA9) == "é"
    tokens, _ = Holes(tokenizer).spell(tf.constant([[5 + 0xC3]]), [1])
    assert tokens.numpy().tolist() == [[b"\xc3"]]


def test_a_tokenizer_without_mask_is_refused():
    tokenizer = WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    with pytest.raises(ValueError, match="no MASK token"):
        Holes(tokenizer)
