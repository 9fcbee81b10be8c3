"""Published models, two layers deep, for the compilers of chips."""

import math

import keras
import tensorflow as tf

from keras_attn.models.bert.model import BERT
from keras_attn.models.gpt.model import GPT
from keras_attn.models.transformer.model import Transformer
from keras_attn.models.vit.model import ViT
from keras_attn.training import MaskedCrossentropy
from keras_attn.training import accelerator_check_model

PUBLISHED = {
    "transformer": (Transformer, "base", ("source", "target")),
    "gpt": (GPT, "gpt2", ()),
    "bert": (BERT, "base", ("tokens", "segments")),
    "vit": (ViT, "b16", ()),
}


def two_layers(name):
    """A published model and its batch; the whole depth only repeats."""
    model_class, preset, inputs = PUBLISHED[name]
    # Dropout costs the TPU's compiler most of a minute for its random numbers.
    options = {"num_layers": 2, "dropout": 0.0, "dtype": "mixed_bfloat16"}
    if model_class is ViT:
        return _two_layers_of_images(preset, options)
    # A vocabulary of its true size would cost time and tell nothing.
    options["vocabulary_size"] = 1000
    if model_class is BERT:
        options["head"] = "masked_lm"
    model = model_class.from_preset(preset, **options)
    model.compile(optimizer="adam", loss=MaskedCrossentropy())
    ids = tf.TensorSpec((8, 128), "int32")
    return model, (dict.fromkeys(inputs, ids) or ids, ids)


def check_training(name, target):
    """The whole step fits, and holds its weights and moments once."""
    model, batch = two_layers(name)
    check = accelerator_check_model(model, batch, target=target)
    assert check.fits, check.reason
    print(f"{name}: {check.total_bytes / 2**30:.2f} GiB of {target}")
    # Weights and Adam's two moments, float32; little else is an argument but
    # the batch, whose images a TPU pads to its tiles.
    state = 3 * 4 * model.count_params()
    given = sum(
        spec.dtype.size * math.prod(spec.shape)
        for spec in tf.nest.flatten(batch)
    )
    assert state < check.argument_bytes < 1.02 * state + 1.2 * given
    assert check.argument_bytes < check.total_bytes < 2e9


def check_decoding(target):
    """A step needs its weights and its state, and overwrites the state."""
    model, (prompts, _) = two_layers("gpt")
    check = accelerator_check_model(
        model, prompts, target=target, decode=True, max_length=512
    )
    assert check.fits, check.reason
    # bfloat16 keys and values of both blocks, prompt and what follows.
    cache = 2 * 2 * 2 * 8 * (128 + 512) * 768
    state = 4 * model.count_params() + cache
    assert state < check.argument_bytes < 1.02 * state
    assert check.total_bytes < check.argument_bytes + cache / 2


def _two_layers_of_images(preset, options):
    model = ViT.from_preset(preset, **options)
    model.compile(
        optimizer="adam",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    images = tf.TensorSpec((64, *model.input_shape[1:]))
    return model, (images, tf.TensorSpec((64,), "int32"))
