import tensorflow as tf

from keras_attn.export.graph.signature import Signature
from keras_attn.export.graph.signature import text_column
from keras_attn.export.graph.tracing import is_text
from keras_attn.export.graph.tracing import trace

TEXT = tf.TensorSpec([None], tf.string)


def test_one_trace_answers_batches_of_any_size():
    traces = []

    def double(text, times):
        traces.append(text)
        return {"text": text + text, "text_bytes": text, "times": 2 * times}

    inputs = {"text": TEXT, "times": tf.TensorSpec([None, 2], tf.int32)}
    function = trace(Signature("double", double, inputs, ()))
    for rows in (0, 1, 3):
        texts = text_column(*[b"\xff"] * rows)
        answer = function(
            text=tf.constant(texts, tf.string),
            times=tf.ones([rows, 2], "int32"),
        )
        # What is no UTF-8 is so only where the name says it.
        assert (
            answer["text"].numpy().tolist() == ["\ufffd\ufffd".encode()] * rows
        )
        assert answer["text_bytes"].numpy().tolist() == [b"\xff"] * rows
        assert answer["times"].numpy().tolist() == [[2, 2]] * rows
    assert len(traces) == 1


def test_strings_are_text_unless_they_are_named_bytes():
    assert is_text("text", tf.string)
    assert not is_text("image_bytes", tf.string)
    assert not is_text("scores", tf.float32)
