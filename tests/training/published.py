"""Published models, a layer or two deep, for the compilers of chips."""

import math

import keras
import tensorflow as tf

from keras_attn.models.bert.model import BERT
from keras_attn.models.gpt.model import GPT
from keras_attn.models.rnn_seq2seq.model import RNNSeq2Seq
from keras_attn.models.sagan.model import SAGAN
from keras_attn.models.transformer.model import Transformer
from keras_attn.models.vilbert.model import ViLBERT
from keras_attn.models.vit.model import ViT
from keras_attn.training import MaskedCrossentropy
from keras_attn.training import MaskedDivergence
from keras_attn.training import accelerator_check_model

# Dropout costs the TPU's compiler most of a minute for its random numbers.
OPTIONS = {"num_layers": 1, "dropout": 0.0, "dtype": "mixed_bfloat16"}


def of_tokens(model_class, preset, inputs=(), **options):
    """A model that reads and names tokens, and its batch."""
    # A vocabulary of its true size would cost time and tell nothing.
    model = model_class.from_preset(
        preset, **OPTIONS, vocabulary_size=1000, **options
    )
    model.compile(optimizer="adam", loss=MaskedCrossentropy())
    ids = tf.TensorSpec((8, 128), "int32")
    return model, (dict.fromkeys(inputs, ids) or ids, ids)


def of_images(**options):
    """ViT-B/16, and its batch."""
    model = ViT.from_preset("b16", **{**OPTIONS, "num_layers": 2}, **options)
    model.compile(
        optimizer="adam",
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    images = tf.TensorSpec((64, *model.input_shape[1:]))
    return model, (images, tf.TensorSpec((64,), "int32"))


def recurrent():
    """Bahdanau's encoder and decoder, and its batch."""
    model = RNNSeq2Seq(
        1000,
        1000,
        units=256,
        bidirectional=True,
        dtype="mixed_bfloat16",
    )
    model.compile(optimizer="adam", loss=MaskedCrossentropy())
    ids = tf.TensorSpec((8, 32), "int32")
    return model, ({"source": ids, "target": ids}, ids)


def two_streams():
    """ViLBERT's pretraining with a layer of each kind, and its batch."""
    model = ViLBERT.from_preset(
        "base-6",
        **OPTIONS,
        vocabulary_size=1000,
        num_region_layers=1,
        co_attention_at=((0, 0),),
        head="pretraining",
    )
    scores = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(
        optimizer="adam",
        loss={
            "masked_lm": MaskedCrossentropy(),
            "masked_regions": MaskedDivergence(),
            "alignment": scores,
        },
    )
    ids = tf.TensorSpec((8, 36), "int32")
    inputs = {"tokens": ids, "segments": ids}
    for name, size in (("features", 2048), ("boxes", 4)):
        inputs[name] = tf.TensorSpec((8, 36, size), "float32")
    return model, (
        inputs,
        {
            "masked_lm": ids,
            "masked_regions": tf.TensorSpec((8, 36, 1601), "float32"),
            "alignment": tf.TensorSpec((8,), "int32"),
        },
    )


def two_networks():
    """SAGAN with one attention of each network, and its batch."""
    model = SAGAN.from_preset(
        "imagenet-128",
        image_size=32,
        num_classes=10,
        attention_resolutions=(16,),
        generator_width=16,
        discriminator_width=16,
        dtype="mixed_bfloat16",
    )
    model.compile()
    images = tf.TensorSpec((64, 32, 32, 3))
    return model, (images, tf.TensorSpec((64,), "int32"))


# Each makes a model, of which the whole depth would only repeat the layers,
# and the spec of its batch; those of `ATTEND` take arguments of their model.
ATTEND = {
    "transformer": lambda **options: of_tokens(
        Transformer, "base", ("source", "target"), **options
    ),
    "gpt": lambda **options: of_tokens(GPT, "gpt2", **options),
    "bert": lambda **options: of_tokens(
        BERT, "base", ("tokens", "segments"), head="masked_lm", **options
    ),
    "vit": of_images,
}
PUBLISHED = {
    **ATTEND,
    "recurrent": recurrent,
    "vilbert": two_streams,
    "sagan": two_networks,
}


def check_training(model, batch, target, padding=1.02):
    """The whole step fits, and holds its weights and moments once.

    Args:
        model, batch: What a function of `PUBLISHED` made.
        target: A chip.
        padding: By what arrays grow there at most.

    Returns:
        What the compiler said.
    """
    check = accelerator_check_model(model, batch, target=target)
    assert check.fits, check.reason
    print(f"{model.name}: {check.total_bytes / 2**30:.2f} GiB of {target}")
    # Weights, and Adam's two moments of those that are trained, float32; little
    # else is an argument but the batch, whose images a TPU pads to its tiles.
    trained = sum(math.prod(x.shape) for x in model.trainable_weights)
    state = 4 * (model.count_params() + 2 * trained)
    given = sum(
        spec.dtype.size * math.prod(spec.shape)
        for spec in tf.nest.flatten(batch)
    )
    assert state < check.argument_bytes < padding * state + 1.2 * given
    assert check.argument_bytes < check.total_bytes < 2e9
    return check


def check_decoding(target):
    """A step needs its weights and its state, and overwrites the state."""
    model, (prompts, _) = PUBLISHED["gpt"]()
    check = accelerator_check_model(
        model, prompts, target=target, step="decode", max_length=512
    )
    assert check.fits, check.reason
    # bfloat16 keys and values of the block, prompt and what follows.
    cache = 2 * 2 * 8 * (128 + 512) * 768
    state = 4 * model.count_params() + cache
    assert state < check.argument_bytes < 1.02 * state
    assert check.total_bytes < check.argument_bytes + cache / 2
