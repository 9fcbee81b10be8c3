import collections
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.models.gpt.model import GPT
from keras_attn.training import accelerator_check_model
from keras_attn.training.accelerator import check


@pytest.fixture
def modules(monkeypatch):
    """What a compiler would get; none is needed."""
    kept = []

    def compile_nothing(target, module, timeout):
        kept.append(module)
        return {"fits": True, "reason": "", "compile_seconds": 0.0}

    monkeypatch.setattr(check, "_importable", lambda name: True)
    monkeypatch.setattr(check, "_compile_elsewhere", compile_nothing)
    return kept


def signature(module):
    return re.search(r"func\.func @main\((.*)\) ->", module)[1]


def arguments(module):
    """Count the arguments of each shape and dtype."""
    return collections.Counter(re.findall(r"tensor<(.*?)>", signature(module)))


def dense_model(dtype="float32"):
    inputs = keras.Input((5,))
    outputs = keras.layers.Dense(7, dtype=dtype)(inputs)
    return keras.Model(inputs, outputs)


FEATURES, LABELS = tf.TensorSpec((4, 5)), tf.TensorSpec((4, 7))


def test_weights_and_optimizer_state_are_arguments_updated_in_place(modules):
    model = dense_model()
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    before = model.get_weights()
    check = accelerator_check_model(model, (FEATURES, LABELS), target="a100")
    assert check.fits and check.target == "a100"
    (module,) = modules
    kinds = arguments(module)
    assert kinds["4x5xf32"] == kinds["4x7xf32"] == 1
    # The weight and Adam's two moments of it.
    assert kinds["5x7xf32"] == kinds["7xf32"] == 3
    # Those, the step, and sum and count of the loss and of the metric.
    assert module.count('kind = "may_alias"') == 6 + 1 + 4
    assert int(model.optimizer.iterations) == 0
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_losses_are_scaled_and_sample_weights_taken(modules):
    model = dense_model("mixed_float16")
    model.compile(
        optimizer=keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD()),
        loss="mse",
    )
    batch = (FEATURES, LABELS, tf.TensorSpec((4,)))
    accelerator_check_model(model, batch)
    (module,) = modules
    assert arguments(module)["4xf32"] == 1
    assert "stablehlo.is_finite" in module
    assert "tensor<5x7xf16>" in module


def test_a_train_step_of_its_own_is_the_one_compiled(modules):
    class Model(keras.Model):
        def train_step(self, data):
            return {"loss": tf.reduce_sum(tf.linalg.matrix_transpose(data))}

    inputs = keras.Input((5,))
    model = Model(inputs, inputs)
    model.compile()
    accelerator_check_model(model, FEATURES)
    assert "tensor<5x4xf32>" in modules[0]


def test_a_decode_step_overwrites_its_state(modules):
    model = GPT(11, num_layers=1, num_heads=2, units=14, max_length=10)
    prompts = tf.TensorSpec((4, 3), "int32")
    accelerator_check_model(model, prompts, step="decode", max_length=5)
    (module,) = modules
    donated = collections.Counter(
        re.findall(r"tensor<(\S*)> {jax.buffer_donor", signature(module))
    )
    # Keys and values of the prompt and of what follows.
    assert donated["4x2x3x7xf32"] == donated["4x2x5x7xf32"] == 2
    kinds = arguments(module)
    assert kinds["11x14xf32"] == 1
    assert kinds["4xi32"] == donated["4xi32"] + 1  # the token


def test_as_many_tokens_are_decoded_as_the_longest_rows_have(modules):
    model = dense_model()
    model.encode = lambda inputs, max_length: tf.zeros((4, max_length))
    model.step = lambda token, state, index: (state, state)
    batch = (tf.TensorSpec((4, 5, 9)), tf.TensorSpec((4, 6), "int32"))
    accelerator_check_model(model, batch, step="decode")
    assert arguments(modules[0]) == {"4xi32": 1, "4x6xf32": 1, "i32": 1}


def test_a_prefill_step_makes_the_state_of_the_prompt(modules):
    model = GPT(11, num_layers=1, num_heads=2, units=14, max_length=10)
    prompts = tf.TensorSpec((4, 3), "int32")
    accelerator_check_model(model, prompts, step="prefill", max_length=5)
    (module,) = modules
    (outputs,) = re.findall(r"func @main\(.*\) -> \((.*)\)", module)
    assert outputs.count("4x2x3x7xf32") == 2  # keys and values of the prompt
    assert arguments(module)["4x3xi32"] == 1


def test_chips_beside_it_are_sent_the_gradients(modules):
    model = dense_model()
    model.compile(loss="mse")
    check = accelerator_check_model(model, (FEATURES, LABELS), num_chips=4)
    assert check.all_reduce_bytes == 2 * 3 * 4 * 42 // 4
    with pytest.raises(ValueError, match="num_chips"):
        accelerator_check_model(model, (FEATURES, LABELS), num_chips=0)


def test_the_largest_batch_is_looked_for(modules):
    model = dense_model()
    model.compile(loss="mse")
    check = accelerator_check_model(
        model, (FEATURES, LABELS), largest_batch=True
    )
    assert check.largest_batch == 8  # this compiler tells no memory
    assert arguments(modules[1])["8x5xf32"] == 1


def test_it_says_what_it_compiles_unless_told_not_to(modules, capsys):
    model = dense_model()
    model.compile(loss="mse")
    accelerator_check_model(model, (FEATURES, LABELS), target="h100")
    assert capsys.readouterr().out == (
        f"Compiling the training step of {model.name} (42 weights, 4 rows) "
        "for h100\n"
    )
    accelerator_check_model(model, (FEATURES, LABELS), verbose=0)
    assert not capsys.readouterr().out


def test_a_model_that_is_not_ready_is_refused(modules):
    model = keras.Sequential([keras.layers.Dense(7)], name="seven")
    with pytest.raises(ValueError, match=r"'seven' is not built.*on a batch"):
        accelerator_check_model(model, (FEATURES, LABELS))
    model.build((4, 5))
    with pytest.raises(ValueError, match=r"'seven' is not compiled.*compile"):
        accelerator_check_model(model, (FEATURES, LABELS))
    with pytest.raises(ValueError, match="Sequential has no `encode`"):
        accelerator_check_model(model, FEATURES, step="decode")
    model.encode = model.step = lambda *inputs: inputs
    with pytest.raises(ValueError, match="Give `max_length`"):
        accelerator_check_model(model, tf.TensorSpec((4, 5, 6)), step="decode")


def test_an_unknown_target_costs_no_memory():
    model = dense_model()
    model.compile(optimizer="adam", loss="mse")
    with pytest.raises(ValueError, match="`target` must be one of"):
        accelerator_check_model(model, (FEATURES, LABELS), target="tpu")
    with pytest.raises(ValueError, match="`step` must be one of"):
        accelerator_check_model(
            model, (FEATURES, LABELS), target="a100", step="serve"
        )
    assert not model.optimizer.built
