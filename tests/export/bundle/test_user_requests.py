import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.bundle.user_requests import add_requests
from keras_attn.export.graph.signature import Signature

TEXT = tf.TensorSpec([None], tf.string)
NUMBER = tf.TensorSpec([None], tf.float32)
OWN = {"text": np.array([b"own"], object)}
ANSWER = Signature("answer", print, {"text": TEXT}, (OWN,))
EMBED = Signature("embed", print, {"text": TEXT}, ())
OPTIONS = Signature("answer_hot", print, {"text": TEXT, "heat": NUMBER}, ())


def examples(signature):
    return [
        {name: array.tolist() for name, array in example.items()}
        for example in signature.examples
    ]


@pytest.mark.parametrize("nothing", [None, False, []])
def test_nothing_given_leaves_the_examples_alone(nothing):
    assert add_requests([ANSWER], nothing) == [ANSWER]


def test_texts_are_asked_of_all_that_take_texts_alone():
    texts = ["é", b"\xff", *"abcdefg"]
    answer, options, embed = add_requests([ANSWER, OPTIONS, EMBED], texts)
    batches = [
        {"text": ["é".encode(), b"\xff", *(x.encode() for x in "abcdef")]},
        {"text": [b"g"]},
    ]
    assert examples(answer) == [*batches, {"text": [b"own"]}]
    assert examples(embed) == batches
    assert options is OPTIONS


def test_dictionaries_are_requests_of_any_signature():
    answer, options = add_requests(
        [ANSWER, OPTIONS],
        [
            {"inputs": {"text": ["a", {"b64": "/w=="}]}},
            {
                "signature": "answer_hot",
                "inputs": {"text": ["b"], "heat": [1.5]},
            },
        ],
    )
    assert examples(answer)[0] == {"text": [b"a", b"\xff"]}
    assert examples(options) == [{"text": [b"b"], "heat": [1.5]}]
    assert options.examples[0]["heat"].dtype == "float32"


@pytest.mark.parametrize(
    ("signature", "request_", "complaint"),
    [
        (OPTIONS, "a", "takes text, heat, not `text` alone"),
        (ANSWER, {"text": ["a"]}, "A request for warming up is a text"),
        (ANSWER, 3, "A request for warming up is a text"),
        (ANSWER, {"inputs": {"texts": ["a"]}}, "takes text. Received: texts"),
        (ANSWER, {"inputs": {}, "signature": "say"}, "a request for 'say'"),
        (OPTIONS, {"inputs": {"text": ["a"], "heat": ["b"]}}, "dtype float32"),
    ],
)
def test_a_request_that_fits_nothing_is_refused(signature, request_, complaint):
    with pytest.raises(ValueError, match=complaint):
        add_requests([signature], [request_])
