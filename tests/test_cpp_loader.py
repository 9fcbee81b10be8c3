import numpy as np
import pytest
import tensorflow as tf

from tests import cpp_loader


class Scaled(tf.Module):
    """Adds `number` to `factor` · x, where `flag` says so."""

    def __init__(self, *, jit_compile=False):
        super().__init__()
        self.factor = tf.Variable(3.0)
        self.compute = tf.function(self._compute, jit_compile=jit_compile)

    def _compute(self, x, number, flag):
        moved = self.factor * x + tf.cast(number, tf.float32)
        return {
            "sum": tf.where(flag, moved, 0.0),
            "count": tf.size(x, tf.int64),
            "flag": ~flag,
            "number": number,
        }

    def save(self, folder):
        signature = self.compute.get_concrete_function(
            tf.TensorSpec([None, 2], tf.float32, "x"),
            tf.TensorSpec([], tf.int32, "number"),
            tf.TensorSpec([None, 1], tf.bool, "flag"),
        )
        tf.saved_model.save(self, str(folder), {"compute": signature})


@pytest.fixture
def inputs():
    return {
        "x": np.arange(6, dtype="float32").reshape(3, 2),
        "number": np.int32(4),
        "flag": np.array([[True], [False], [True]]),
    }


def test_a_signature_answers_in_every_dtype(inputs, tmp_path):
    Scaled().save(tmp_path)
    outputs = cpp_loader.run(tmp_path, "compute", inputs)
    np.testing.assert_array_equal(outputs["sum"], [[4, 7], [0, 0], [16, 19]])
    np.testing.assert_array_equal(outputs["flag"], ~inputs["flag"])
    assert outputs["count"] == 6 and outputs["number"] == 4
    dtypes = {name: str(array.dtype) for name, array in outputs.items()}
    assert dtypes == {
        "sum": "float32",
        "count": "int64",
        "flag": "bool",
        "number": "int32",
    }


def test_what_xla_must_compile_is_refused(inputs, tmp_path):
    Scaled(jit_compile=True).save(tmp_path)
    with pytest.raises(RuntimeError, match="XLA compilation disabled"):
        cpp_loader.run(tmp_path, "compute", inputs)


def test_a_folder_without_variables_is_refused(inputs, tmp_path):
    Scaled().save(tmp_path)
    for path in (tmp_path / "variables").iterdir():
        path.unlink()
    with pytest.raises(FileNotFoundError, match=r"no\s+variables"):
        cpp_loader.run(tmp_path, "compute", inputs)


def test_inputs_that_the_signature_does_not_take_are_refused(inputs, tmp_path):
    Scaled().save(tmp_path)
    with pytest.raises(ValueError, match=r"takes .*'flag', 'number', 'x'"):
        cpp_loader.run(tmp_path, "compute", {"x": inputs["x"]})
    with pytest.raises(ValueError, match="has no signature 'other'"):
        cpp_loader.run(tmp_path, "other", inputs)


def test_ops_inside_functions_are_listed(tmp_path):
    Scaled().save(tmp_path)
    assert {"SelectV2", "LogicalNot"} <= cpp_loader.op_names(tmp_path)


class Shout(tf.Module):
    @tf.function
    def shout(self, text):
        return {"loud": tf.strings.upper(text), "again": text}

    def save(self, folder):
        signature = self.shout.get_concrete_function(
            tf.TensorSpec([None, 2], tf.string, "text")
        )
        tf.saved_model.save(self, str(folder), {"shout": signature})


def test_strings_of_all_bytes_and_lengths_come_back(tmp_path):
    Shout().save(tmp_path)
    text = np.empty((3, 2), object)
    # 23 bytes and more are kept outside the 24 of a `TF_TString`.
    text[:] = [
        [b"", b"a\0b\n\xff\0"],
        [b"c" * 22, b"d" * 23],
        [b"e" * 24, b"f" * 100_000],
    ]
    outputs = cpp_loader.run(tmp_path, "shout", {"text": text})
    assert outputs["again"].tolist() == text.tolist()
    assert outputs["loud"][1, 0] == b"C" * 22
    assert outputs["loud"][2, 1] == b"F" * 100_000
