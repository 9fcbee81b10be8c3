import tensorflow as tf

from keras_attn.text import ByteTokenizer
from tests.text.contract import ODD_TEXTS
from tests.text.contract import check_tokenizer


def test_contract(tmp_path):
    check_tokenizer(ByteTokenizer(), ["héllo wörld", "b"], tmp_path)


def test_an_id_is_the_byte_after_five_special_tokens():
    tokenizer = ByteTokenizer()
    assert tokenizer.vocabulary_size == 5 + 256
    ids = tokenizer(["Aé", ""])
    assert ids.to_list() == [[5 + 0x41, 5 + 0xC3, 5 + 0xA9], []]


def test_every_string_comes_back_byte_for_byte():
    tokenizer = ByteTokenizer()
    texts = [*ODD_TEXTS, bytes(range(256))]
    assert tokenizer.detokenize(tokenizer(texts)).numpy().tolist() == texts


def test_padding_is_zero():
    tokenizer = ByteTokenizer()
    rows = tokenizer.to_dense(["b", ""], 4)
    start, b, end = tokenizer.start_id, 5 + ord("b"), tokenizer.end_id
    assert rows.numpy().tolist() == [[start, b, end, 0], [start, end, 0, 0]]
    assert rows.dtype == tf.int32
