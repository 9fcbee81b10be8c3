import re
import sys

import pytest
import tensorflow as tf

from keras_attn.training.accelerator import lower

SPEC = tf.TensorSpec((3, 5))


def length_of_text(x):
    return tf.strings.length(tf.strings.as_string(x))


@pytest.fixture
def ordinary(monkeypatch):
    """There is no TPU build."""
    monkeypatch.setattr(lower, "tpu_python", lambda: None)


def test_the_build_that_lowered_is_named(ordinary):
    module, build = lower.lower(tf.square, [SPEC], tpu=True)
    assert "tensor<3x5xf32>" in module
    assert build == f"tensorflow {tf.__version__}"


@pytest.mark.parametrize("tpu", [False, True])
def test_an_op_without_a_kernel_is_named(ordinary, tpu):
    with pytest.raises(ValueError, match=r"it has no kernel for AsString\.$"):
        lower.lower(length_of_text, [SPEC], tpu=tpu)


def test_what_else_is_wrong_is_told_in_tensorflows_words(ordinary):
    def unknown_shape(x):
        return tf.zeros([tf.cast(x[0, 0], "int32")])

    with pytest.raises(
        ValueError, match=r"cannot lower.*compile-time constant"
    ):
        lower.lower(unknown_shape, [SPEC], tpu=False)


def test_the_tpu_build_is_here_or_beside(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    assert lower.tpu_python() is None
    beside = tmp_path / "env-tpu/bin/python"
    beside.parent.mkdir(parents=True)
    beside.touch()
    assert lower.tpu_python() == str(beside)
    monkeypatch.setattr(
        lower.importlib.metadata, "version", lambda name: "2.20.0"
    )
    assert lower.tpu_python() == sys.executable


def test_a_build_that_breaks_down_is_told(monkeypatch):
    monkeypatch.setattr(lower, "tpu_python", lambda: "/bin/false")
    with pytest.raises(RuntimeError, match="/bin/false failed with status 1"):
        lower.lower(tf.square, [SPEC], tpu=True)


@pytest.mark.accelerator
def test_the_tpu_build_lowers_with_the_tpus_kernels():
    variable = tf.Variable(tf.ones((5, 7)))

    def step(x):
        variable.assign_add(tf.matmul(x, x @ variable, transpose_a=True))

    module, build = lower.lower(step, [SPEC], tpu=True)
    assert build.startswith("tensorflow-tpu 2.20")
    arguments = re.search(r"func\.func @main\((.*)\) ->", module)[1]
    assert arguments.startswith("%arg0: tensor<3x5xf32>")
    assert re.search(r"tensor<5x7xf32> \{jax\.buffer_donor", arguments)


@pytest.mark.accelerator
def test_the_tpu_build_names_an_op_without_a_kernel():
    said = r"^tensorflow-tpu 2\.20.*no kernel for AsString\.$"
    with pytest.raises(ValueError, match=said):
        lower.lower(length_of_text, [SPEC], tpu=True)
