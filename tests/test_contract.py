"""The contract passes a sound layer and names each fault of a broken one."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_attn.base.layer import Layer
from keras_attn.ops import masks
from keras_attn.ops.softmax import masked_softmax
from tests.contract import check_layer


def register(layer_class):
    return keras.saving.register_keras_serializable("keras_attn")(layer_class)


@register
class Sound(Layer):
    """The smallest attention that keeps the contract; faults override it."""

    def __init__(self, units, *, gain=1.0, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.gain = gain
        self.supports_masking = True
        self.query_dense = self.make_dense("query")
        self.key_dense = self.make_dense("key")

    def make_dense(self, name):
        return keras.layers.Dense(
            self.units, name=name, dtype=self.dtype_policy
        )

    def build(self, query_shape, value_shape):
        self.query_dense.build(query_shape)
        self.key_dense.build(value_shape)

    def call(self, query, value, *, value_mask=None, training=None):
        value = self.clear(value, value_mask)
        scores = ops.einsum(
            "bqu,bku->bqk", self.query_dense(query), self.key_dense(value)
        )
        weights = masked_softmax(scores, self.visible(value_mask))
        return self.finish(ops.matmul(weights, value) * self.gain)

    def clear(self, value, value_mask):
        return masks.zero_padding(value, value_mask, "value_mask")

    def visible(self, value_mask):
        return masks.key_mask(value_mask)

    def finish(self, output):
        return output

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "gain": self.gain,
        }


def check(layer_class, rng, tmp_path):
    inputs = {
        "query": rng.normal(size=(2, 3, 4)).astype("float32"),
        "value": rng.normal(size=(2, 5, 6)).astype("float32"),
    }
    check_layer(
        layer_class,
        {"units": 7, "gain": 0.5},
        inputs,
        output_shape=(2, 3, 6),
        tmp_path=tmp_path,
        powerless=("key/bias",),
    )


def test_a_sound_layer_passes(rng, tmp_path):
    check(Sound, rng, tmp_path)


def test_a_layer_with_one_input_passes(rng, tmp_path):
    @register
    class Alone(Sound):
        def build(self, inputs_shape):
            super().build(inputs_shape, inputs_shape)

        def call(self, inputs, *, mask=None, training=None):
            x = self.clear(inputs, mask)
            return super().call(x, x, value_mask=mask)

    check_layer(
        Alone,
        {"units": 7},
        {"inputs": rng.normal(size=(2, 3, 4)).astype("float32")},
        output_shape=(2, 3, 4),
        tmp_path=tmp_path,
        powerless=("key/bias",),
    )


def test_a_wrong_shape_is_caught(rng, tmp_path):
    with pytest.raises(AssertionError):
        check_layer(
            Sound,
            {"units": 7},
            {
                "query": rng.normal(size=(2, 3, 4)).astype("float32"),
                "value": rng.normal(size=(2, 5, 6)).astype("float32"),
            },
            output_shape=(2, 3, 7),
            tmp_path=tmp_path,
        )


class Unregistered(Sound):
    pass


@register
class ForgetsAnArgument(Sound):
    def get_config(self):
        config = super().get_config()
        del config["gain"]
        return config


@register
class ChangesAnArgument(Sound):
    def get_config(self):
        return {**super().get_config(), "gain": 1.0}


@register
class SavesADerivedKey(Sound):
    def get_config(self):
        return {**super().get_config(), "half": self.units // 2}


@register
class SavesWhatIsNotJson(Sound):
    def get_config(self):
        return {**super().get_config(), "gain": np.float32(self.gain)}


@register
class HasAnUnusedWeight(Sound):
    def build(self, query_shape, value_shape):
        super().build(query_shape, value_shape)
        self.spare = self.add_weight(shape=(), name="spare")


@register
class HasAWeightThatNeverLearns(HasAnUnusedWeight):
    def finish(self, output):
        return output + 0.0 * ops.cast(self.spare, output.dtype)


@register
class HasAGradientThatOverflows(HasAnUnusedWeight):
    def finish(self, output):
        return output + ops.sqrt(0.0 * ops.cast(self.spare, output.dtype))


@register
class DiffersInAGraph(Sound):
    def finish(self, output):
        return output if tf.executing_eagerly() else output + 1


@register
class DiffersUnderXLA(Sound):
    def finish(self, output):
        known = None not in output.shape and not tf.executing_eagerly()
        return output + 1 if known else output


@register
class WidensTheOutput(Sound):
    def finish(self, output):
        wide = "float64" if output.dtype == "float64" else "float32"
        return ops.cast(output, wide)


@register
class OverflowsInHalfPrecision(Sound):
    def finish(self, output):
        return (output * 1e6) / 1e6


@register
class LeavesASublayerItsOwnPrecision(Sound):
    def make_dense(self, name):
        return keras.layers.Dense(self.units, name=name)

    def finish(self, output):
        return ops.cast(output, self.compute_dtype)


@register
class MakesUpABatch(Sound):
    def finish(self, output):
        return ops.zeros((1, 3, 6)) if output.shape[0] == 0 else output


@register
class NeedsTwoPositions(Sound):
    def finish(self, output):
        others = ops.cast(ops.shape(output)[1] - 1, output.dtype)
        return output * others / others


@register
class LeaksPadding(Sound):
    def clear(self, value, value_mask):
        return value

    def visible(self, value_mask):
        return None


@register
class InvertsTheMask(Sound):
    def visible(self, value_mask):
        return None if value_mask is None else ~masks.key_mask(value_mask)


@register
class TakesNoMask(Sound):
    def call(self, query, value, *, training=None):
        return super().call(query, value)


@register
class IgnoresKerasMasks(Sound):
    def __call__(self, query, value, **kwargs):
        return super().__call__(query, tf.identity(value), **kwargs)


@register
class WipesKerasMasks(Sound):
    def __call__(self, query, value, **kwargs):
        output = super().__call__(query, value, **kwargs)
        if hasattr(value, "_keras_mask"):
            del value._keras_mask
        return output


@register
class DropsTheQuerysMask(Sound):
    def compute_mask(self, query, query_mask):
        return None


@register
class CarriesTheWrongMask(Sound):
    def compute_mask(self, query, query_mask):
        return None if query_mask is None else ops.logical_not(query_mask)


@register
class LetsNaNThrough(Sound):
    def clear(self, value, value_mask):
        return value


@register
class LetsNaNIntoAGradient(Sound):
    def clear(self, value, value_mask):
        clean = super().clear(value, value_mask)
        # The output sees no padding, the bias of the key does.
        spoiled = ops.sum(self.key_dense(value) * 0.0, axis=(1, 2))
        return (
            clean
            + ops.where(ops.isnan(spoiled), ops.zeros_like(spoiled), spoiled)[
                :, None, None
            ]
        )


@register
class KeepsAStateThatIsNotSaved(Sound):
    def __init__(self, units, *, gain=1.0, **kwargs):
        super().__init__(units, gain=gain, **kwargs)
        self.offset = np.random.default_rng().normal()

    def finish(self, output):
        return output + self.offset


@register
class HidesALayerFromCheckpoints(Sound):
    def build(self, query_shape, value_shape):
        super().build(query_shape, value_shape)
        self._more = [keras.layers.Dense(6, dtype=self.dtype_policy)]
        self._more[0].build((None, 6))

    def finish(self, output):
        return self._more[0](output)


@register
class HasASeedThatIsNotSaved(Sound):
    _seed_state = None

    def __init__(self, units, *, gain=1.0, **kwargs):
        super().__init__(units, gain=gain, **kwargs)
        self.seed_generator = keras.random.SeedGenerator()


@register
class SaysAnotherShape(Sound):
    def compute_output_shape(self, *shapes):
        return shapes[0]


@register
class MakesWeightsToSayItsShape(Sound):
    def compute_output_shape(self, *shapes):
        if not self.built:
            self.build(*shapes)
        return super().compute_output_shape(*shapes)


@register
class ForgetsThatItIsQuantized(Sound):
    def get_build_config(self):
        return keras.layers.Layer.get_build_config(self)


@register
class IgnoresLowRank(Sound):
    def finish(self, output):
        return output + 1 if self.key_dense.lora_enabled else output


@pytest.mark.parametrize(
    ("layer_class", "complaint"),
    [
        (Unregistered, "not registered"),
        (ForgetsAnArgument, r"forgets \['gain'\]"),
        (ChangesAnArgument, "changes 'gain'"),
        (SavesADerivedKey, "Unrecognized keyword arguments.*half"),
        (SavesWhatIsNotJson, "not JSON serializable"),
        (HasAnUnusedWeight, "spare is never used"),
        (HasAWeightThatNeverLearns, "spare never changes"),
        (HasAGradientThatOverflows, "spare overflows"),
        (DiffersInAGraph, "differs in a graph"),
        (DiffersUnderXLA, "differs under XLA"),
        (WidensTheOutput, "mixed_bfloat16 gives"),
        (OverflowsInHalfPrecision, "mixed_float16 gives NaN"),
        (LeavesASublayerItsOwnPrecision, "without dtype=self.dtype_policy"),
        (MakesUpABatch, "an empty batch must give"),
        (NeedsTwoPositions, "length 1 gives NaN"),
        (LeaksPadding, "differs when padding is hidden by value_mask"),
        (InvertsTheMask, "differs when padding is hidden by value_mask"),
        (TakesNoMask, r"call\(\) takes no mask for 'value'"),
        (IgnoresKerasMasks, "differs when padding is hidden by Keras' masks"),
        (WipesKerasMasks, "removed the Keras mask of 'value'"),
        (DropsTheQuerysMask, "lost the query's mask"),
        (CarriesTheWrongMask, "Arrays are not equal"),
        (LetsNaNThrough, "differs when padding holds NaN"),
        (LetsNaNIntoAGradient, "NaN in padding reaches the gradient"),
        (KeepsAStateThatIsNotSaved, "differs after saving and loading"),
        (HidesALayerFromCheckpoints, "not restored by tf.train.Checkpoint"),
        (HasASeedThatIsNotSaved, "not restored by the .keras file"),
        (SaysAnotherShape, "says another shape"),
        (MakesWeightsToSayItsShape, "asking for a shape built the layer"),
        (IgnoresLowRank, "differs after saving it with LoRA"),
        (ForgetsThatItIsQuantized, "expected 2 variables, but received 3"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_fault_is_caught(layer_class, complaint, rng, tmp_path):
    with pytest.raises(
        (AssertionError, TypeError, ValueError), match=complaint
    ):
        check(layer_class, rng, tmp_path)
