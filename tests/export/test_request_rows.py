import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.graph.signature import Signature
from keras_attn.export.request_rows import columns_of
from keras_attn.export.request_rows import join_batches
from keras_attn.export.request_rows import row_sizes

SIGNATURE = Signature(
    "rate",
    None,
    {
        "text": tf.TensorSpec([None], tf.string),
        "seed": tf.TensorSpec([None], tf.int64),
        "vector": tf.TensorSpec([None, 2], tf.float32),
    },
    (),
)


def ask(text, seed=3, vector=((1, 2), (3, 4))):
    inputs = {"text": text, "seed": seed, "vector": vector}
    return columns_of(SIGNATURE, inputs)


@pytest.mark.parametrize(
    "texts",
    [
        ["é", "b\0"],
        ["é".encode(), b"b\0"],
        ("é", b"b\0"),
        np.array(["é", "b\0"], object),
        tf.constant(["é", "b\0"]),
    ],
    ids=["str", "bytes", "mixed", "array", "tensor"],
)
def test_texts_come_in_many_forms(texts):
    columns = ask(texts)
    assert columns["text"].tolist() == ["é".encode(), b"b\0"]
    assert columns["seed"].tolist() == [3, 3]
    assert columns["seed"].dtype == "int64"
    assert columns["vector"].dtype == "float32"
    assert row_sizes(columns).tolist() == [2, 2]


def test_files_come_as_bytes_as_paths_or_as_pixels(tmp_path):
    specs = {"image_bytes": tf.TensorSpec([None], tf.string)}
    pixels = np.arange(24, dtype="uint8").reshape(4, 2, 3)
    path = tmp_path / "file"
    path.write_bytes(b"\xff\0")
    columns = columns_of(
        Signature("show", None, specs, ()),
        {"image_bytes": [b"GIF", path, pixels, tf.constant(pixels)]},
    )
    *files, first, second = columns["image_bytes"]
    assert files == [b"GIF", b"\xff\0"]
    for png in (first, second):
        np.testing.assert_array_equal(tf.io.decode_png(png), pixels)


def test_nothing_has_the_shape_of_something():
    columns = ask([], vector=[])
    assert columns["text"].shape == columns["seed"].shape == (0,)
    assert columns["vector"].shape == (0, 2)


@pytest.mark.parametrize(
    ("inputs", "complaint"),
    [
        ({"text": "one text"}, r"takes a list.*write \['one text'\]"),
        ({"text": ["a", 3]}, "takes strings. Received: 3"),
        ({"text": [["a"], ["b"]]}, r"shape \(None,\). Received: \(2, 1\)"),
        ({"seed": [1.5, 2.5]}, "takes int64. Received: float64"),
        ({"vector": [[1.0], [2.0]]}, r"shape \(None, 2\)"),
        ({"text": ["a", "b", "c"]}, "equally many rows"),
    ],
)
def test_what_does_not_fit_is_refused(inputs, complaint):
    with pytest.raises(ValueError, match=complaint):
        ask(**{"text": ["a", "b"], **inputs})


def test_the_names_are_the_signatures_own():
    with pytest.raises(TypeError, match=r"takes text, seed, vector.*: texts"):
        columns_of(SIGNATURE, {"texts": ["a"]})


def test_batches_come_together_where_their_rows_were():
    texts = [tf.constant([["a", "b"], ["c", ""]]), tf.constant([["d"]])]
    joined = join_batches("tokens", texts, np.array([2, 0, 1]))
    assert joined.tolist() == [["c", ""], ["d", ""], ["a", "b"]]
    same = join_batches("raw_bytes", texts, np.array([0, 1, 2]))
    assert same.tolist() == [[b"a", b"b"], [b"c", b""], [b"d", b""]]
    numbers = [tf.constant([[5]], tf.int64), tf.constant([[6, 7]], tf.int64)]
    joined = join_batches("labels", numbers, np.array([1, 0]))
    assert joined.tolist() == [[6, 7], [5, -1]]
    assert joined.dtype == "int64"
