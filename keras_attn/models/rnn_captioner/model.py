"""The recurrent captioner, which attends to an image or sees it once."""

import keras
from keras import ops

from keras_attn.attention.additive import AdditiveAttention
from keras_attn.base.state import State
from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.models.grid_encoder import as_grid_encoder
from keras_attn.models.preset_model import PresetModel
from keras_attn.models.rnn_captioner.decoder import CaptionDecoder


@keras.saving.register_keras_serializable(package="keras_attn")
class RNNCaptioner(PresetModel):
    """Writes what is in an image: Show, Attend and Tell, and its ancestors.

        a = encoder(image)                                  a grid of features
        z(t) = β(t) Σ softmax(v · tanh(W_a a + W_s h(t - 1) + b)) a
        h(t) = cell([E y(t - 1); z(t)], h(t - 1))
        logits(t) = L_o (E y(t - 1) + L_h h(t) + L_z z(t))

    Without attention z is the mean of a, or enters h(0) alone. For the rest,
    h(0), β and the loss, see `CaptionDecoder`, which is the attribute
    `decoder`.

    Args:
        vocabulary_size: Number of ids.
        units: Length of h, and of the attention's hidden layer.
        encoder: A functional model from images to (batch, rows, columns,
            features), such as `keras.applications` without their top; or None
            for a small one of ours. Freeze a trained one beforehand,
            `encoder.trainable = False`: its batch norms then stay as they are.
        image_shape: Height, width and channels, if there is no `encoder`.
        embedding_dim: Features of E; `units` if not given.
        cell: "lstm", "gru" or "simple".
        attention: "additive", an attention layer, or None.
        context: "input", or without attention "state": z enters h(0) alone.
        gate: Whether there is a β.
        dropout: Fraction dropped before L_o while training.
        state_dropout: Fraction of h and c dropped before each step, with
            attention: the decoder then looks instead of remembering.
        doubly_stochastic: λ of the loss that spreads attention evenly.
        pad_id: The id that is padding; None if none is.

    Call arguments:
        inputs: `{"image": (batch, height, width, channels), "target": (batch,
            target)}`, the ids ragged or dense.

    Returns:
        (batch, target, vocabulary) logits.

    Reference:
        Xu et al. 2015. https://arxiv.org/abs/1502.03044
        Vinyals et al. 2015. https://arxiv.org/abs/1411.4555
    """

    def __init__(
        self,
        vocabulary_size: int,
        *,
        units: int,
        encoder=None,
        image_shape: tuple[int, int, int] | None = None,
        embedding_dim: int | None = None,
        cell: str = "lstm",
        attention="additive",
        context: str = "input",
        gate: bool = True,
        dropout: float = 0.0,
        state_dropout: float = 0.0,
        doubly_stochastic: float = 1.0,
        pad_id: int | None = 0,
        dtype=None,
        **kwargs,
    ):
        encoder = as_grid_encoder(encoder, image_shape, dtype=dtype)
        if attention == "additive":
            attention = AdditiveAttention(units, use_bias=True, dtype=dtype)
        elif isinstance(attention, str):
            raise ValueError(
                '`attention` must be "additive", one of the attention layers '
                f"of this package, or None. Received: attention={attention!r}"
            )
        embedding = TokenEmbedding(
            vocabulary_size,
            embedding_dim or units,
            scale=False,
            pad_id=pad_id,
            embeddings_initializer="uniform",
            name="embedding",
            dtype=dtype,
        )
        decoder = CaptionDecoder(
            vocabulary_size,
            units,
            cell=cell,
            attention=attention,
            context=context,
            gate=gate,
            dropout=dropout,
            state_dropout=state_dropout,
            doubly_stochastic=doubly_stochastic,
            name="decoder",
            dtype=dtype,
        )
        *grid, features = encoder.output_shape[1:]
        flatten = keras.layers.Reshape(
            (grid[0] * grid[1], features), name="cells", dtype=dtype
        )
        given = encoder.inputs[0]
        image = keras.Input(given.shape[1:], dtype=given.dtype, name="image")
        target = keras.Input((None,), dtype="int32", name="target")
        logits = decoder(embedding(target), flatten(encoder(image)))
        inputs = {"image": image, "target": target}
        super().__init__(inputs, logits, dtype=dtype, **kwargs)
        self.encoder = encoder
        self.flatten = flatten
        self.embedding = embedding
        self.decoder = decoder
        self.grid = tuple(grid)
        if attention is None:
            # There is nothing to tell; who asks finds no method.
            self.alignment = None

    def memory(self, image):
        """Return the cells of images: (rows, key, features)."""
        return self.flatten(self.encoder(image, training=False))

    def encode(self, inputs, max_length: int):
        """Read images, as the state that `step` goes on from.

        Args:
            inputs: (rows, height, width, channels); or `{"image": …}`, of
                which "memory" may hold what `memory` makes of them.
            max_length: Not needed: a state does not grow.

        Returns:
            The `State`, rows being the first axis of every leaf.
        """
        inputs = inputs if isinstance(inputs, dict) else {"image": inputs}
        memory = inputs.get("memory")
        if memory is None:
            memory = self.memory(inputs["image"])
        return State(*self.decoder.begin(memory))

    def step(self, token, state, index=None):
        """Go on by one token.

        Args:
            token: (rows,) ids.
            state: What `encode` or the last `step` returned.
            index: Not needed: the state is all that is known of the caption.

        Returns:
            (rows, vocabulary) logits of the next token, and the state.
        """
        # As one of a length, of which Keras' mask stays behind.
        x = self.embedding(token[:, None])[:, 0]
        outputs, states = self.decoder.step(x, *state)
        return self.decoder.readout(x, outputs), state._replace(carried=states)

    def teacher_forced(self, inputs, tokens):
        """All steps at once, where it is known what they are fed.

        Args:
            inputs: As for `encode`.
            tokens: (rows, target) ids, the first ones included.

        Returns:
            (rows, target, vocabulary) logits of what follows each token.
        """
        return self.decoder.readout(*self._run(inputs, tokens))

    def alignment(self, inputs, tokens):
        """Where each token of a target attends in the image.

        Args:
            inputs, tokens: As for `teacher_forced`.

        Returns:
            (rows, target, grid_rows, grid_columns) float32 weights; several
            heads are averaged. A model without attention has no such method.
        """
        _, outputs = self._run(inputs, tokens)
        weights = ops.cast(outputs["weights"], "float32")
        if len(weights.shape) == 4:
            weights = ops.mean(weights, axis=2)
        shape = ops.shape(weights)[:2]
        return ops.reshape(weights, (*shape, *self.grid))

    def _run(self, inputs, tokens):
        """Tokens as vectors, and what each step makes of them."""
        state = self.encode(inputs, 0)
        x = self.embedding(ops.convert_to_tensor(tokens))
        # Without the mask of padding: what a step is fed is a token.
        return x, self.decoder.run(x, *state)
