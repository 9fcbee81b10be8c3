"""The decoder-only Transformer."""

from typing import ClassVar

import keras
from keras import ops

from keras_attn.base.state import State
from keras_attn.blocks.decoder import DecoderBlock
from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.models import prompts
from keras_attn.models.gpt import from_gemma2
from keras_attn.models.gpt import from_gpt2
from keras_attn.models.gpt import from_llama
from keras_attn.models.gpt.logit_soft_cap import LogitSoftCap
from keras_attn.models.gpt.presets import PRESETS
from keras_attn.models.make_stack import make_stack
from keras_attn.models.preset_model import PresetModel


@keras.saving.register_keras_serializable(package="keras_attn")
class GPT(PresetModel):
    """A language model: each position scores the token that comes next.

        x      = E[id(t)] + P[t]
        x      = block(x)                num_layers times, causal
        logits = E norm(x)               cap · tanh(logits / cap) if capped

    The weights of maps that add to the residual path start smaller, times
    1/√(2 · num_layers): the sum of all does not grow with the depth.

    Args:
        vocabulary_size: Number of ids.
        num_layers, num_heads, units: Sizes of the stack; `units` features.
        hidden_dim: Hidden length of the feed-forward networks; four times
            `units` if not given.
        max_length: Positions that are learned.
        position: "learned", "sine", "split_sine" (all sines, then all
            cosines), or None where `attention` brings a modifier such as
            `Rotary` instead.
        norm, normalization, epsilon, activation, use_bias: Of the blocks.
        dropout: Fraction dropped while training.
        attention: Further arguments of every `MultiHeadAttention`; or a
            list of each layer's, such as windows that alternate.
        tie_embeddings: Whether E is the matrix of the logits as well.
        scale_embedding: Whether E is multiplied by √units on the way in.
        logit_soft_cap: What bounds the logits smoothly; None for nothing.
        pad_id: The id that is padding; None if none is.

    Call arguments:
        inputs: (batch, length) ids, ragged or dense; or `{"tokens",
            "segments"}` as `data.language_model(packed=True)` gives them,
            where the documents of a row are numbered from 1 and padding is 0:
            each is read as if it were alone, from position 0.

    Returns:
        (batch, length, vocabulary) logits.

    Reference:
        Radford et al. 2019, "Language Models are Unsupervised Multitask
        Learners", section 2.3. https://openai.com/index/better-language-models
    """

    presets = PRESETS
    readers: ClassVar = {
        "gpt2": from_gpt2.read,
        "llama": from_llama.read,
        "mistral": from_llama.read,
        "qwen2": from_llama.read,
        "qwen3": from_llama.read,
        "gemma2": from_gemma2.read,
    }

    def __init__(
        self,
        vocabulary_size: int,
        *,
        num_layers: int,
        num_heads: int,
        units: int,
        hidden_dim: int | None = None,
        max_length: int = 1024,
        position: str | None = "learned",
        norm: str = "pre",
        normalization: str = "layer",
        epsilon: float = 1e-5,
        activation="gelu_tanh",
        use_bias: bool = True,
        dropout: float = 0.1,
        attention: dict | list | None = None,
        tie_embeddings: bool = True,
        scale_embedding: bool = False,
        logit_soft_cap: float | None = None,
        pad_id: int | None = 0,
        dtype=None,
        **kwargs,
    ):
        block = dict(
            num_heads=num_heads,
            hidden_dim=hidden_dim or 4 * units,
            norm=norm,
            normalization=normalization,
            epsilon=epsilon,
            activation=activation,
            use_bias=use_bias,
            dropout={"attention": dropout, "output": dropout},
            attention=attention,
        )
        normal = keras.initializers.RandomNormal(stddev=0.02)
        embedding = TokenEmbedding(
            vocabulary_size,
            units,
            scale=scale_embedding,
            pad_id=pad_id,
            embeddings_initializer=normal.clone(),
            name="embedding",
            dtype=dtype,
        )
        stack = make_stack(
            DecoderBlock,
            num_layers,
            block,
            initializer=normal,
            position=position,
            max_length=max_length,
            first_norm=False,
            last_norm=True,
            dropout=dropout,
            name="stack",
            dtype=dtype,
        )
        project = None
        if not tie_embeddings:
            project = keras.layers.Dense(
                vocabulary_size, use_bias=False, name="logits", dtype=dtype
            )

        soft_cap = None
        if logit_soft_cap is not None:
            soft_cap = LogitSoftCap(
                logit_soft_cap, name="logit_soft_cap", dtype=dtype
            )

        tokens = keras.Input((None,), dtype="int32", name="tokens")
        x = stack(embedding(tokens))
        _shrink_residual_maps(stack.blocks)
        logits = project(x) if project else embedding(x, reverse=True)
        logits = soft_cap(logits) if soft_cap else logits
        super().__init__(tokens, logits, dtype=dtype, **kwargs)
        self.embedding = embedding
        self.stack = stack
        self.project = project
        self.soft_cap = soft_cap

    def call(self, inputs, training=None, mask=None, **kwargs):
        if not _is_packed(inputs):
            return super().call(inputs, training=training, mask=mask, **kwargs)
        x = self.stack(
            self.embedding(inputs["tokens"]),
            segments=inputs["segments"],
            training=training,
        )
        return self._logits(x)

    def compute_output_spec(self, inputs, training=None, mask=None):
        """Describe what `call` returns."""
        tokens = inputs["tokens"] if _is_packed(inputs) else inputs
        return super().compute_output_spec(tokens, training, mask)

    def prompt(self, inputs):
        """Part prompts into what `encode` reads and the token that follows.

        Args:
            inputs: (rows, prompt) ids, ragged or filled up with `pad_id` at
                the end; or `{"tokens": …}`, of which "lengths", (rows,), may
                tell how many count. A prompt without a token starts from
                `pad_id`, or from 0.

        Returns:
            The input of `encode`, and (rows,) last tokens, with which the
            steps start.
        """
        tokens, lengths = self._read(inputs)
        start_id = self.config["pad_id"] or 0
        return prompts.before_last(tokens, lengths, start_id)

    def encode(self, inputs, max_length: int):
        """Read prompts, as the state that `step` goes on from.

        Args:
            inputs: (rows, prompt) ids, ragged or filled up with `pad_id` at
                the end; or what `prompt` returned.
            max_length: How many tokens may follow.

        Returns:
            The `State`, rows being the first axis of every leaf.
        """
        return self.prefill(inputs, max_length)[1]

    def prefill(self, inputs, max_length: int):
        """Read prompts, as vectors and as the state of `encode`.

        Args:
            inputs, max_length: As for `encode`.

        Returns:
            (rows, prompt, units) vectors, of which the logits would be made,
            and the state.
        """
        tokens, lengths = self._read(inputs)
        self.stack.check_room(lengths + max_length)
        vectors, caches = self.stack.prefill(
            self.embedding(tokens), lengths, max_length
        )
        return vectors, _state(lengths, caches)

    def teacher_forced(self, inputs, tokens):
        """All steps at once, where it is known what they are fed.

        Args:
            inputs: As for `encode`.
            tokens: (rows, length) ids that follow the prompts, at least one.

        Returns:
            (rows, length, vocabulary) logits of what follows each token.
        """
        prompt, lengths = self._read(inputs)
        room, length = ops.shape(prompt)[1], ops.shape(tokens)[1]
        places = ops.arange(room + length, dtype="int32")[None]
        # In each row the tokens stand right after the prompt.
        after = places - lengths[:, None]
        after = ops.clip(after, 0, length - 1) + room
        places = ops.where(places < lengths[:, None], places, after)
        rows = ops.concatenate([prompt, ops.cast(tokens, "int32")], axis=1)
        rows = ops.take_along_axis(rows, places, axis=1)
        rows = {"tokens": rows, "lengths": lengths + length}
        vectors, _ = self.prefill(rows, 0)
        places = lengths[:, None] + ops.arange(length, dtype="int32")
        x = ops.take_along_axis(vectors, places[:, :, None], axis=1)
        return self._logits(x)

    def step(self, token, state, index=None):
        """Go on by one token.

        Args:
            token: (rows,) ids.
            state: What `encode` or the last `step` returned.
            index: Not needed: rows know their own positions.

        Returns:
            (rows, vocabulary) logits of the next token, and the state. Past
            the `max_length` of `encode` there is an error, or NaN in a graph.
        """
        position, caches = state.carried["position"], state.carried["caches"]
        x, caches, _ = self.stack.step(
            self.embedding(token), State(caches, state.constant), position
        )
        return self._logits(x), _state(position + 1, caches)

    def _logits(self, x):
        project = self.project
        logits = project(x) if project else self.embedding(x, reverse=True)
        return self.soft_cap(logits) if self.soft_cap else logits

    def _read(self, inputs):
        if _is_packed(inputs):
            raise ValueError(
                "A prompt is one text in a row, not documents packed into it. "
                'Give each a row of its own, without "segments".'
            )
        return prompts.lengths_of(inputs, self.config["pad_id"])


def _is_packed(inputs):
    return isinstance(inputs, dict) and "segments" in inputs


def _state(position, caches):
    """The caches' constants, and what each step changes."""
    carried = {"position": position, "caches": caches.carried}
    return State(carried, caches.constant)


def _shrink_residual_maps(blocks):
    """Let the sum of all sublayers' outputs start as wide as one of them."""
    factor = (2 * len(blocks)) ** -0.5
    for block in blocks:
        for layer in (
            block.self_attention.output_dense,
            block.feed_forward.output_dense,
        ):
            # A quantised map has no initial weights, only loaded ones.
            if layer.quantization_mode is None:
                layer.kernel.assign(layer.kernel * factor)
