import pytest
import tensorflow as tf

from keras_attn.text import ByteTokenizer
from keras_attn.text import Tokenizer
from keras_attn.text.template import Template
from keras_attn.text.template import column

ROBERTA = Template(
    [[7, 0], ["A", 0], [8, 0]],
    [[7, 0], ["A", 0], [8, 0], [8, 0], ["B", 1], [8, 1]],
)


def ragged(*rows):
    return tf.ragged.constant(rows, dtype=tf.int32)


def test_special_tokens_stand_where_the_template_says():
    first, second = ragged([1, 2], []), ragged([3], [4, 5])
    one = ROBERTA.lay_out(first)
    assert one["tokens"].to_list() == [[7, 1, 2, 8], [7, 8]]
    assert one["segments"].to_list() == [[0] * 4, [0] * 2]
    two = ROBERTA.lay_out(first, second)
    assert two["tokens"].to_list() == [
        [7, 1, 2, 8, 8, 3, 8],
        [7, 8, 8, 4, 5, 8],
    ]
    assert two["segments"].to_list() == [
        [0, 0, 0, 0, 0, 1, 1],
        [0, 0, 0, 1, 1, 1],
    ]


def test_one_row_needs_no_batch():
    row = ROBERTA.lay_out(tf.constant([1, 2]))["tokens"]
    assert row.numpy().tolist() == [7, 1, 2, 8]
    assert column(4, tf.constant([1, 2])).numpy().tolist() == [4]


def test_special_tokens_are_counted():
    assert ROBERTA.num_special() == 2 and ROBERTA.num_special(2) == 4
    assert ROBERTA.ids() == {7, 8}


def test_it_is_saved_with_the_tokenizer(tmp_path):
    tokenizer = ByteTokenizer()
    tokenizer.template = ROBERTA
    tokenizer.save(tmp_path)
    assert Tokenizer.load(tmp_path).template == ROBERTA
    assert Template(**ROBERTA.get_config()) == ROBERTA


@pytest.mark.parametrize(
    ("single", "pair", "name"),
    [
        ([[7, 0]], ROBERTA.pair, "single"),
        ([["A", 0], ["B", 0]], ROBERTA.pair, "single"),
        (ROBERTA.single, [["A", 0], ["A", 0]], "pair"),
    ],
)
def test_a_row_holds_each_text_once(single, pair, name):
    with pytest.raises(ValueError, match=f"`{name}` must hold A"):
        Template(single, pair)
