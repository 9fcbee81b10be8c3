import concurrent.futures

import keras
import pytest
import tensorflow as tf

from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.training import accelerator_check
from keras_attn.training.accelerator import check
from keras_attn.training.accelerator import chips


def training_step(layer, spec, **options):
    """Forward and backward pass of self-attention, to all its weights."""
    layer.build(spec.shape, spec.shape)

    @tf.function(jit_compile=True)
    def step(features):
        with tf.GradientTape() as tape:
            tape.watch(features)
            output = layer(features, features, **options)
        weights = [weight.value for weight in layer.trainable_weights]
        return output, tape.gradient(output, [features, *weights])

    return step


@pytest.mark.accelerator
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("target", ["v5e:2x2", "a100"])
def test_a_layer_of_65536_tokens_fits(target, causal):
    spec = tf.TensorSpec((8, 65536, 512))
    layer = MultiHeadAttention(8, 64, implementation="tiled")
    step = training_step(layer, spec, use_causal_mask=causal)
    check = accelerator_check(step, spec, target=target)
    assert check.fits, check.reason
    assert check.target == target
    features = 4 * spec.shape.num_elements()
    assert features < check.argument_bytes < check.total_bytes < 16e9


@pytest.mark.accelerator
def test_half_precision_fits_in_less():
    spec = tf.TensorSpec((8, 65536, 512), "bfloat16")
    layer = MultiHeadAttention(
        8, 64, implementation="tiled", dtype="mixed_bfloat16"
    )
    check = accelerator_check(training_step(layer, spec), spec)
    assert check.fits, check.reason
    assert check.total_bytes < 8e9


@pytest.mark.accelerator
def test_the_tpus_kernel_moves_far_less_than_a_matrix_of_scores():
    spec = tf.TensorSpec((8, 2048, 512), "bfloat16")
    moved = {}
    for implementation in ("auto", "dense"):
        layer = MultiHeadAttention(
            8, 64, implementation=implementation, dtype="mixed_bfloat16"
        )
        check = accelerator_check(training_step(layer, spec), spec)
        assert check.fits, check.reason
        moved[implementation] = check.bytes_moved
        assert check.num_loops == 0  # no tiles: all of it is counted
    assert moved["auto"] < moved["dense"] / 3


@pytest.mark.accelerator
def test_the_tpu_compiler_refuses_what_does_not_fit():
    spec = tf.TensorSpec((8, 8192, 512))
    layer = keras.layers.MultiHeadAttention(8, 64)
    check = accelerator_check(training_step(layer, spec), spec)
    assert not check.fits
    assert "hbm" in check.reason.lower()
    assert check.total_bytes is None


@pytest.mark.accelerator
def test_a_gpu_that_is_too_small_is_reported():
    spec = tf.TensorSpec((8, 16384, 512))
    layer = keras.layers.MultiHeadAttention(8, 64)
    check = accelerator_check(training_step(layer, spec), spec, target="a100")
    assert not check.fits
    assert f"needs {check.total_bytes} bytes" in check.reason
    assert check.total_bytes > 40e9


@pytest.mark.accelerator
@pytest.mark.parametrize("target", ["a100", "h100"])
def test_nests_and_variables_count_as_arguments(target):
    variable = tf.Variable(tf.zeros((256, 256)))
    specs = {"a": tf.TensorSpec((256, 256)), "b": tf.TensorSpec((256, 256))}
    check = accelerator_check(
        lambda inputs: inputs["a"] @ inputs["b"] + variable,
        specs,
        target=target,
    )
    assert check.fits
    matrix = 4 * 256 * 256
    assert check.argument_bytes == 3 * matrix
    assert check.total_bytes == 4 * matrix + check.temporary_bytes


@pytest.mark.accelerator
@pytest.mark.parametrize("target", ["v4", "v5p", "v6e", "l4", "t4"])
def test_every_chip_has_its_compiler(target):
    matrix = tf.TensorSpec((1024, 1024), "bfloat16")
    check = accelerator_check(tf.matmul, matrix, matrix, target=target)
    assert check.fits, check.reason
    assert check.flops >= 2 * 1024**3
    assert check.bytes_moved >= 3 * 2 * 1024**2
    assert check.num_loops == 0
    chip = chips.CHIPS[target]
    assert check.seconds >= check.bytes_moved / chip.bandwidth


@pytest.mark.accelerator
def test_a_loop_is_counted_once_and_told():
    matrix = tf.TensorSpec((256, 256))

    def powers(x):
        return tf.while_loop(lambda y, i: i < 9, _times(x), (x, 0))[0]

    def _times(x):
        return lambda y, i: (x @ y, i + 1)

    check = accelerator_check(powers, matrix, target="a100")
    assert check.num_loops == 1
    assert 2 * 256**3 <= check.flops < 2 * 2 * 256**3


def test_the_least_time_is_of_the_slower_of_memory_and_arithmetic():
    def seconds(**counted):
        return check.AcceleratorCheck(
            "a100", fits=True, reason="", compile_seconds=0.0, **counted
        ).seconds

    assert seconds(bytes_moved=1555 * 10**9, flops=1) == 1
    assert seconds(bytes_moved=1, flops=624 * 10**12) == 2
    assert seconds() is None


@pytest.mark.accelerator
def test_constant_booleans_are_read(rng):
    mask = rng.integers(2, size=(15, 17)).astype("bool")
    spec = tf.TensorSpec((15, 17))
    check = accelerator_check(
        lambda x: tf.where(mask, x, 0.0), spec, target="a100"
    )
    assert check.fits, check.reason
    assert check.argument_bytes == 4 * mask.size


@pytest.mark.accelerator
@pytest.mark.parametrize("target", ["v5e:2x2", "a100"])
def test_what_is_donated_is_overwritten(target):
    cache, new = tf.TensorSpec((8, 1024, 128)), tf.TensorSpec((8, 1, 128))

    def total_bytes(**options):
        return accelerator_check(
            lambda new, kept: kept["cache"] + new,
            new,
            {"cache": cache, "nothing": None},
            target=target,
            **options,
        ).total_bytes

    saved = total_bytes() - total_bytes(donate=[1])
    assert saved == 4 * cache.shape.num_elements()


def test_an_unknown_target_is_refused():
    with pytest.raises(ValueError, match=r"\('v4', 'v5e', .*'l4', 't4'\)"):
        accelerator_check(tf.identity, tf.TensorSpec((2,)), target="b200")


def test_an_unknown_dimension_is_refused(monkeypatch):
    monkeypatch.setattr(check, "_importable", lambda name: True)
    with pytest.raises(ValueError, match=r"shape \(2, None\)"):
        accelerator_check(tf.identity, tf.TensorSpec((2, None)))


def test_a_ragged_spec_is_refused(monkeypatch):
    monkeypatch.setattr(check, "_importable", lambda name: True)
    with pytest.raises(ValueError, match=r"dense tensors only.*RaggedTensorSp"):
        accelerator_check(tf.identity, tf.RaggedTensorSpec((2, None)))


@pytest.mark.parametrize(
    ("target", "needed"), [("v5e:2x2", "libtpu"), ("a100", "xla_cuda12")]
)
def test_what_is_missing_is_named_with_its_extra(monkeypatch, target, needed):
    monkeypatch.setattr(check, "_importable", lambda name: False)
    message = rf"jax.*{needed}.*pip install keras_attn\[accelerator\]$"
    with pytest.raises(ImportError, match=message):
        accelerator_check(tf.identity, tf.TensorSpec((2,)), target=target)


def test_the_gpu_plugin_must_match_jax(monkeypatch):
    monkeypatch.setattr(check, "_importable", {"jax"}.__contains__)
    monkeypatch.setattr(
        check.importlib.metadata, "version", lambda name: "1.2.3"
    )
    with pytest.raises(ImportError, match=r"jax-cuda12-plugin==1\.2\.3"):
        accelerator_check(tf.identity, tf.TensorSpec((2,)), target="h100")


def test_a_package_inside_a_missing_one_is_missing():
    assert check._importable("tensorflow")
    assert not check._importable("no_such_package.inside")


def test_a_compiler_that_breaks_down_is_not_an_answer():
    with pytest.raises(RuntimeError, match="failed with status 1"):
        check._compile_elsewhere("a100", "not a module", timeout=60)


@pytest.mark.accelerator
def test_two_processes_compile_for_a_tpu_at_once():
    module = """
        func.func public @main(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
          %y = stablehlo.add %x, %x : tensor<8x128xf32>
          return %y : tensor<8x128xf32>
        }
    """
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = [
            pool.submit(check._compile_elsewhere, "v5e:2x2", module, 600)
            for _ in range(2)
        ]
        assert all(answer.result()["fits"] for answer in answers)
