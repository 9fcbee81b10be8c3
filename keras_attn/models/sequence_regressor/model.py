"""From a sequence of any length to numbers or classes."""

import keras

from keras_attn.attention.pooling import AttentionPooling
from keras_attn.base import argument_checks
from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.blocks.masked_convolution import MaskedConvolution
from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.models.preset_model import PresetModel
from keras_attn.models.recurrent_layers import make_layer
from keras_attn.models.sequence_regressor.each_frame import EachFrame
from keras_attn.models.sequence_regressor.padded_steps import PaddedSteps
from keras_attn.models.sequence_regressor.step_pooling import StepPooling
from keras_attn.models.stack import Stack

PROCESSING = ("recurrent", "convolution", "attention")
POOLING = ("mean", "last", "attention")


@keras.saving.register_keras_serializable(package="keras_attn")
class SequenceRegressor(PresetModel):
    """Numbers, or scores of classes, that go with a sequence.

        h      = process(x)             num_layers times
        output = W pool(h) + b          for all steps together
        output = W h(t) + b             for each, with `return_sequences`

    There are three ways to process a sequence: a recurrent network goes step
    by step, a convolution sees neighbours, self-attention sees all at once.

    Args:
        num_outputs: How many numbers are told.
        num_classes: Or else, among how many classes, by their logits.
        units: Features of a processed step.
        num_layers: Layers of processing.
        processing: "recurrent", "convolution" or "attention".
        pooling: "mean", "last" or "attention".
        return_sequences: Whether each step has an output.
        vocabulary_size: Number of ids, if the steps are ids.
        num_features: Length of the vectors, if the steps are vectors.
        frame_encoder: A model that makes a vector of a frame, if the steps
            are frames, say of a video.
        cell: "lstm", "gru" or "simple", of recurrent layers.
        kernel_size: Of convolutions.
        num_heads: Of attention.
        dropout: Fraction dropped while training.
        pad_id: The id that is padding; None if none is.

    Call arguments:
        inputs: (batch, time) ids, (batch, time, features) or (batch, time,
            height, width, channels), ragged or padded at the end: ids with
            `pad_id`, others with zeros or NaN.

    Returns:
        (batch, outputs), or (batch, time, outputs).

    Reference:
        Rao et al. 2019, "Evaluating Protein Transfer Learning with TAPE",
        section 4.2. https://arxiv.org/abs/1906.08230
    """

    def __init__(
        self,
        *,
        num_outputs: int | None = None,
        num_classes: int | None = None,
        units: int,
        num_layers: int = 1,
        processing: str = "recurrent",
        pooling: str = "mean",
        return_sequences: bool = False,
        vocabulary_size: int | None = None,
        num_features: int | None = None,
        frame_encoder=None,
        cell: str = "lstm",
        kernel_size: int = 3,
        num_heads: int = 4,
        dropout: float = 0.0,
        pad_id: int | None = 0,
        dtype=None,
        **kwargs,
    ):
        argument_checks.choice(processing, "processing", PROCESSING)
        argument_checks.choice(pooling, "pooling", POOLING)
        argument_checks.integer(num_layers, "num_layers", at_least=1)
        argument_checks.integer(units, "units", at_least=1)
        argument_checks.rate(dropout)
        _check_one(
            vocabulary_size=vocabulary_size,
            num_features=num_features,
            frame_encoder=frame_encoder,
        )
        _check_one(num_outputs=num_outputs, num_classes=num_classes)
        name, num_results = "num_outputs", num_outputs
        if num_outputs is None:
            name, num_results = "num_classes", num_classes
        argument_checks.integer(num_results, name, at_least=1)

        own = {"dtype": dtype}
        if vocabulary_size is not None:
            inputs = keras.Input((None,), dtype="int32", name="tokens")
            x = TokenEmbedding(
                vocabulary_size,
                units,
                scale=False,
                pad_id=pad_id,
                embeddings_initializer="uniform",
                name="embedding",
                **own,
            )(inputs)
        elif frame_encoder is not None:
            each = EachFrame(frame_encoder, name="frames", **own)
            frame = frame_encoder.inputs[0]
            inputs = _sequence(frame.shape[1:], frame.dtype)
            x = each(PaddedSteps(name="steps", **own)(inputs))
        else:
            size = argument_checks.integer(
                num_features, "num_features", at_least=1
            )
            floats = keras.dtype_policies.get(dtype).variable_dtype
            inputs = _sequence((size,), floats)
            x = PaddedSteps(name="steps", **own)(inputs)
        if processing == "attention":
            if vocabulary_size is None:
                x = keras.layers.Dense(units, name="projection", **own)(x)
            blocks = [
                EncoderBlock(
                    num_heads,
                    4 * units,
                    norm="pre",
                    dropout=dropout,
                    name=f"block_{number}",
                    **own,
                )
                for number in range(num_layers)
            ]
            x = Stack(
                blocks,
                position="sine",
                last_norm=True,
                dropout=dropout,
                name="stack",
                **own,
            )(x)
        else:
            for number in range(num_layers):
                named = {"name": f"{processing}_{number}", **own}
                if processing == "recurrent":
                    layer = make_layer(
                        cell, units, return_sequences=True, **named
                    )
                else:
                    layer = MaskedConvolution(units, kernel_size, **named)
                drop = keras.layers.Dropout(
                    dropout, name=f"dropout_{number}", **own
                )
                x = layer(drop(x))
        if not return_sequences:
            named = {"name": "pooling", **own}
            if pooling == "attention":
                x = AttentionPooling(units, **named)(x)
            else:
                x = StepPooling(pooling, **named)(x)
        name = "value" if num_classes is None else "logits"
        outputs = keras.layers.Dense(num_results, name=name, **own)(x)
        super().__init__(inputs, outputs, dtype=dtype, **kwargs)


def _sequence(shape, dtype):
    return keras.Input((None, *shape), dtype=dtype, name="sequence")


def _check_one(**given):
    """Refuse none, or several, of arguments of which one says what is."""
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise ValueError(
            f"Give one of {', '.join(given)}. Received: "
            f"{', '.join(named) or 'none of them'}"
        )
