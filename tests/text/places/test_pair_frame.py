import tensorflow as tf

from keras_attn.text import ByteTokenizer
from keras_attn.text import layouts
from keras_attn.text.places import pair_frame as module
from keras_attn.text.places.pair_frame import pair_frame


def test_a_pair_of_bert_has_three_special_tokens_one_of_them_last():
    assert pair_frame(ByteTokenizer()) == (3, 1)


def test_another_layout_is_counted(monkeypatch):
    def join_as_roberta(tokenizer, first, second):
        first = layouts.with_end(tokenizer, layouts.with_end(tokenizer, first))
        for _ in range(2):
            second = layouts.with_end(tokenizer, second)
        row = tf.concat([first, second], axis=1)
        return {"tokens": layouts.with_start(tokenizer, row)}

    monkeypatch.setattr(module, "join_pair", join_as_roberta)
    assert pair_frame(ByteTokenizer()) == (5, 2)
