import numpy as np
import tensorflow as tf

from keras_attn.export.graph.answer_text import readable
from keras_attn.export.graph.answer_text import spell
from keras_attn.text import CharacterTokenizer

TOKENIZER = CharacterTokenizer(["[UNK]", "[END]", "a", "b", "c"])
END, A, B, C = 1, 2, 3, 4


def text_of(tokens, end_ids):
    ids = readable(TOKENIZER, tf.constant(tokens), end_ids)
    return TOKENIZER.detokenize(ids).numpy().tolist()


def test_no_end_is_part_of_the_text():
    assert text_of([[A, B, C, C]], (C, END)) == [b"ab"]
    assert text_of([[A, END, C, C]], (C, END)) == [b"a"]
    assert text_of([[A, B, C, END]], (END,)) == [b"abc"]


def test_ids_that_the_tokenizer_lacks_read_as_its_last():
    assert text_of([[A, 99, END]], (END,)) == [b"ac"]
    real = np.array([[True, True, False]])
    spelled = spell(TOKENIZER, tf.constant([[A, 99, B]]), real)
    assert spelled.numpy().tolist() == [[b"a", b"c", b""]]
