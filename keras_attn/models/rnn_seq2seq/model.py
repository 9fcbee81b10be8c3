"""The recurrent encoder-decoder."""

import keras
from keras import ops

from keras_attn.attention.additive import AdditiveAttention
from keras_attn.attention.dot import DotAttention
from keras_attn.attention.local import LocalAttention
from keras_attn.attention.location_sensitive import LocationSensitiveAttention
from keras_attn.attention.multiplicative import MultiplicativeAttention
from keras_attn.base import argument_checks
from keras_attn.base.state import State
from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.models import prompts
from keras_attn.models.preset_model import PresetModel
from keras_attn.models.rnn_seq2seq.decoder import RecurrentDecoder
from keras_attn.models.rnn_seq2seq.encoder import RecurrentEncoder
from keras_attn.models.rnn_seq2seq.presets import PRESETS

# D of the paper's experiments.
_LOCAL_HALF_WIDTH = 10


@keras.saving.register_keras_serializable(package="keras_attn")
class RNNSeq2Seq(PresetModel):
    """Reads a source with one recurrent network, writes a target with another.

        memory, h = encoder(E_s[source])
        output(t) = decoder(E_t[target(t)], memory)    from a state made of h
        logits(t) = W_o output(t)

    Without attention h, one vector, is all that is known of the source.

    Args:
        source_vocabulary_size, target_vocabulary_size: Numbers of ids.
        cell: "lstm", "gru" or "simple".
        units, num_layers: Of both networks.
        embedding_dim: Width of the embeddings; `units` if not given.
        bidirectional: Whether the source is read in both directions.
        reverse_source: Whether its end is read first.
        encoder: A functional model, or a layer that takes a `mask`, in place of
            the recurrent encoder: of (batch, source, embedding_dim) it makes
            the memory and the last states, as many as the encoder would.
        initial_state: "final", or "backward" for tanh(W_s ←h).
        attention: None, "dot", "multiplicative", "additive", "location",
            "local", or one of our attention layers.
        attention_units: Of "additive" and "location"; `units` if not given.
        context: "input", "readout", "layer" or "attentional"; see
            `AttentionCell`.
        constant_context: Whether every step is fed h.
        readout, readout_units: "maxout" and its width, or None.
        use_bias, dropout: Of the networks.
        state_dropout: Of a decoder with attention; see `AttentionCell`.
        pad_id: The id that is padding; None if none is.
        forced_end_id: What `generate` puts last where a text is cut off.

    Call arguments:
        inputs: `{"source": (batch, source), "target": (batch, target)}` ids,
            ragged or dense.

    Returns:
        (batch, target, vocabulary) logits.

    Reference:
        Sutskever et al. 2014. https://arxiv.org/abs/1409.3215
        Bahdanau et al. 2015. https://arxiv.org/abs/1409.0473
        Luong et al. 2015. https://arxiv.org/abs/1508.04025
    """

    presets = PRESETS

    def __init__(
        self,
        source_vocabulary_size: int,
        target_vocabulary_size: int,
        *,
        cell: str = "gru",
        units: int = 512,
        num_layers: int = 1,
        embedding_dim: int | None = None,
        bidirectional: bool = False,
        reverse_source: bool = False,
        encoder=None,
        initial_state: str = "final",
        attention="additive",
        attention_units: int | None = None,
        context: str = "input",
        constant_context: bool = False,
        readout: str | None = None,
        readout_units: int | None = None,
        use_bias: bool = True,
        dropout: float = 0.0,
        state_dropout: float = 0.0,
        pad_id: int | None = 0,
        forced_end_id: int | None = None,
        dtype=None,
        **kwargs,
    ):
        shared = dict(
            cell=cell,
            units=units,
            num_layers=num_layers,
            bidirectional=bidirectional,
            use_bias=use_bias,
            dropout=dropout,
            dtype=dtype,
        )
        source_embedding, target_embedding = (
            TokenEmbedding(
                size,
                embedding_dim or units,
                scale=False,
                pad_id=pad_id,
                name=f"{side}_embedding",
                dtype=dtype,
            )
            for side, size in (
                ("source", source_vocabulary_size),
                ("target", target_vocabulary_size),
            )
        )
        if encoder is not None:
            # Keras' functional models hand masks on, but do not say so.
            encoder.supports_masking = True
        reader = encoder or RecurrentEncoder(
            reverse=reverse_source, name="encoder", **shared
        )
        attention = _make_attention(attention, attention_units or units, dtype)
        decoder = RecurrentDecoder(
            attention=attention,
            context=context,
            constant_context=constant_context,
            initial_state=initial_state,
            readout=readout,
            readout_units=readout_units,
            state_dropout=state_dropout,
            name="decoder",
            **shared,
        )
        project = keras.layers.Dense(
            target_vocabulary_size,
            use_bias=use_bias,
            name="logits",
            dtype=dtype,
        )
        source = keras.Input((None,), dtype="int32", name="source")
        target = keras.Input((None,), dtype="int32", name="target")
        memory, *final = reader(source_embedding(source))
        _check_read(memory, final, units, decoder.num_final_states)
        x = decoder(
            target_embedding(target),
            memory,
            final,
            memory_mask=source_embedding.compute_mask(source),
        )
        inputs = {"source": source, "target": target}
        super().__init__(inputs, project(x), dtype=dtype, **kwargs)
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        # Not `encoder`: that has a memory alone, which is not all of this.
        self.reader = reader
        self.decoder = decoder
        self.project = project
        self.forced_end_id = forced_end_id
        if attention is None:
            self.alignment = None

    def encode(self, inputs, max_length: int):
        """Read sources, as the state that `step` goes on from.

        Args:
            inputs: (rows, source) ids, ragged or dense; or `{"source": …}`.
            max_length: Not needed: a state is as large for any number.

        Returns:
            The `State`, rows being the first axis of every leaf.
        """
        states, constant = self._start(inputs)
        positions = ops.zeros((ops.shape(states[0])[0],), "int32")
        return State({"position": positions, "states": states}, constant)

    def step(self, token, state, index=None):
        """Go on by one token.

        Args:
            token: (rows,) ids.
            state: What `encode` or the last `step` returned.
            index: Not needed: rows know their own positions.

        Returns:
            (rows, vocabulary) logits of the next token, and the state.
        """
        carried, constant = state
        positions = carried["position"]
        # As one of a length, of which Keras' mask stays behind.
        x = self.target_embedding(token[:, None])[:, 0]
        x, states = self.decoder.step(x, carried["states"], constant, positions)
        carried = {"position": positions + 1, "states": states}
        return self.project(x), State(carried, constant)

    def teacher_forced(self, inputs, tokens):
        """All steps at once, where it is known what they are fed.

        Args:
            inputs: As for `encode`.
            tokens: (rows, target) ids, the first ones included.

        Returns:
            (rows, target, vocabulary) logits of what follows each token.
        """
        memory, final, mask = self._read(inputs)
        x = self.decoder(
            self.target_embedding(tokens),
            memory,
            final,
            # A step does not ask either whether it is fed padding.
            mask=ops.ones_like(tokens, dtype="bool"),
            memory_mask=mask,
        )
        return self.project(x)

    def alignment(self, inputs, tokens):
        """Where each token of a target attends in the source.

        Not without attention: then the model has None in its place.

        Args:
            inputs, tokens: As for `teacher_forced`.

        Returns:
            (rows, target, source) float32, averaged over heads.
        """
        states, constant = self._start(inputs)
        weights = self.decoder.alignment(
            self.target_embedding(tokens), constant, states
        )
        if len(weights.shape) == 4:
            weights = ops.mean(weights, axis=2)
        return ops.cast(weights, "float32")

    def _start(self, inputs):
        memory, final, mask = self._read(inputs)
        return self.decoder.start(memory, final, mask=mask)

    def _read(self, inputs):
        """The memory of sources, the encoder's last states, and the mask."""
        inputs = inputs["source"] if isinstance(inputs, dict) else inputs
        source = prompts.as_rows(inputs, self.config["pad_id"])
        source = ops.convert_to_tensor(source)
        memory, *final = self.reader(self.source_embedding(source))
        return memory, final, self.source_embedding.compute_mask(source)


def _check_read(memory, final, units, num_states):
    """Refuse what a decoder cannot start from."""
    shapes = [tuple(each.shape) for each in (memory, *final)]
    if len(shapes[0]) != 3 or shapes[1:] != [(None, units)] * num_states:
        raise ValueError(
            "`encoder` must return a list: the memory, (batch, source, "
            f"features), and {num_states} of the decoder's states, (batch, "
            f"{units}). Received shapes: {shapes}. See `cell`, `units`, "
            "`num_layers` and `bidirectional`, which say how many states."
        )


def _make_attention(attention, units, dtype):
    """An attention layer by name, or the one that was given."""
    if attention is None or isinstance(attention, keras.layers.Layer):
        return attention
    made = {
        "dot": lambda: DotAttention(score="dot", dtype=dtype),
        "multiplicative": lambda: MultiplicativeAttention(dtype=dtype),
        "additive": lambda: AdditiveAttention(units, dtype=dtype),
        "location": lambda: LocationSensitiveAttention(units, dtype=dtype),
        "local": lambda: LocalAttention(_LOCAL_HALF_WIDTH, dtype=dtype),
    }
    argument_checks.choice(attention, "attention", (None, *made))
    return made[attention]()
