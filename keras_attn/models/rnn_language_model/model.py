"""The recurrent language model."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.state import State
from keras_attn.embeddings.one_hot import OneHot
from keras_attn.embeddings.token import TokenEmbedding
from keras_attn.models import prompts
from keras_attn.models.preset_model import PresetModel
from keras_attn.models.recurrent_layers import make_layer
from keras_attn.models.rnn_language_model import conditions
from keras_attn.models.rnn_language_model.presets import PRESETS


@keras.saving.register_keras_serializable(package="keras_attn")
class RNNLanguageModel(PresetModel):
    """A language model whose memory of the text is one state.

        x(t)      = E[id(t)], or one-hot
        h(t)      = cell(dropout(x(t)), h(t - 1))    num_layers times
        logits(t) = W dropout(h(t)) + b
        h(0)      = tanh(W_h f(condition) + b_h), or 0

    Args:
        vocabulary_size: Number of ids.
        units: Length of each layer's state.
        num_layers: Recurrent layers, one upon the other.
        cell: "lstm", "gru" or "simple".
        embedding_dim: Features of E; `units` if not given.
        one_hot: Whether words are one-hot vectors instead of rows of E.
        tie_embeddings: Whether E is the matrix of the logits as well; there
            is no b then.
        condition: What else a text depends on: an integer, the features of a
            vector; a model f from an image, say, to a vector; or None. It
            sets the first state of each layer, of an LSTM both halves.
        dropout: Fraction of each layer's inputs, and of the logits', that is
            dropped while training.
        start_id: The token that a text without a prompt starts from;
            `pad_id`, or 0, if None.
        pad_id: The id that is padding; None if none is.

    Call arguments:
        inputs: (batch, length) ids, ragged or dense; with a condition
            `{"tokens", "condition"}`.

    Returns:
        (batch, length, vocabulary) logits.

    Reference:
        Mikolov et al. 2010, "Recurrent neural network based language model".
        https://doi.org/10.21437/Interspeech.2010-343; dropout as Zaremba et
        al. 2014, section 3.2. https://arxiv.org/abs/1409.2329
    """

    presets = PRESETS

    def __init__(
        self,
        vocabulary_size: int,
        *,
        units: int,
        num_layers: int = 1,
        cell: str = "lstm",
        embedding_dim: int | None = None,
        one_hot: bool = False,
        tie_embeddings: bool = False,
        condition=None,
        dropout: float = 0.0,
        start_id: int | None = None,
        pad_id: int | None = 0,
        dtype=None,
        **kwargs,
    ):
        num_layers = argument_checks.integer(
            num_layers, "num_layers", at_least=1
        )
        argument_checks.rate(dropout)
        _check_words(units, embedding_dim, one_hot, tie_embeddings)
        if one_hot:
            embedding = OneHot(
                vocabulary_size, pad_id=pad_id, name="one_hot", dtype=dtype
            )
        else:
            embedding = TokenEmbedding(
                vocabulary_size,
                embedding_dim or units,
                scale=False,
                pad_id=pad_id,
                embeddings_initializer="uniform",
                name="embedding",
                dtype=dtype,
            )
        layers = [
            make_layer(
                cell,
                units,
                return_sequences=True,
                name=f"recurrent_{number}",
                dtype=dtype,
            )
            for number in range(num_layers)
        ]
        drops = [
            keras.layers.Dropout(dropout, name=f"dropout_{number}", dtype=dtype)
            for number in range(num_layers + 1)
        ]
        project = None
        if not tie_embeddings:
            project = keras.layers.Dense(
                vocabulary_size, name="logits", dtype=dtype
            )

        inputs = tokens = keras.Input((None,), dtype="int32", name="tokens")
        encoder, first_states = None, []
        if condition is not None:
            given, encoder = conditions.as_input(condition, dtype)
            inputs = {"tokens": tokens, "condition": given}
            vector = given if encoder is None else encoder(given)
            first_states = conditions.state_maps(layers, dtype)
        x = embedding(tokens)
        for number, layer in enumerate(layers):
            state = None
            if first_states:
                state = [dense(vector) for dense in first_states[number]]
            x = layer(drops[number](x), initial_state=state)
        x = drops[-1](x)
        logits = project(x) if project else embedding(x, reverse=True)
        super().__init__(inputs, logits, dtype=dtype, **kwargs)
        self.embedding = embedding
        self.recurrent_layers = layers
        self.project = project
        self.condition_encoder = encoder
        self.first_states = first_states

    def prompt(self, inputs):
        """Part prompts into what `encode` reads and the token that follows.

        Args:
            inputs: (rows, prompt) ids, ragged or filled up with `pad_id` at
                the end; or `{"tokens": …}`, of which "lengths", (rows,), may
                tell how many count, and with a condition "condition", (rows,
                …), alone or beside them. A prompt without a token starts from
                `start_id`.

        Returns:
            The input of `encode`, and (rows,) last tokens, with which the
            steps start.
        """
        tokens, lengths, further = self._read(inputs)
        start_id = self.config["start_id"]
        if start_id is None:
            start_id = self.config["pad_id"] or 0
        before, last = prompts.before_last(tokens, lengths, start_id)
        return {**before, **further}, last

    def encode(self, inputs, max_length: int):
        """Read prompts, as the state that `step` goes on from.

        Args:
            inputs: As for `prompt`, or what it returned.
            max_length: Not needed: a state does not grow.

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
        tokens, lengths, further = self._read(inputs)
        # One column more, so that there is one even if all prompts are empty.
        tokens = ops.pad(tokens, ((0, 0), (0, 1)))
        positions = ops.arange(ops.shape(tokens)[1], dtype="int32")[None]
        states = self._first_states(ops.shape(tokens)[0], **further)
        vectors, states = self._run(
            tokens, states, mask=positions < lengths[:, None]
        )
        return vectors[:, :-1], State(states)

    def teacher_forced(self, inputs, tokens):
        """All steps at once, where it is known what they are fed.

        Args:
            inputs: As for `encode`.
            tokens: (rows, length) ids that follow the prompts, at least one.

        Returns:
            (rows, length, vocabulary) logits of what follows each token.
        """
        state = self.encode(inputs, 0)
        return self._logits(self._run(tokens, state.carried)[0])

    def step(self, token, state, index=None):
        """Go on by one token.

        Args:
            token: (rows,) ids.
            state: What `encode` or the last `step` returned.
            index: Not needed: the state is all that is known of the text.

        Returns:
            (rows, vocabulary) logits of the next token, and the state.
        """
        x, states = self._vectors(token), []
        for layer, before in zip(
            self.recurrent_layers, state.carried, strict=True
        ):
            x, after = layer.cell(x, before)
            states.append(list(after))
        return self._logits(x), state._replace(carried=states)

    def _run(self, tokens, states, mask=None):
        """From states over tokens to vectors and the states after them."""
        x, after = self._vectors(tokens), []
        for layer, before in zip(self.recurrent_layers, states, strict=True):
            # Not the layer itself: cuDNN refuses rows without a token, and
            # would be in what is exported from a machine with a GPU.
            loop = keras.layers.RNN(
                layer.cell,
                return_sequences=True,
                return_state=True,
                dtype=layer.dtype_policy,
            )
            x, *state = loop(x, initial_state=before, mask=mask)
            after.append(state)
        return x, after

    def _first_states(self, rows, condition=None):
        if condition is None:
            return [
                list(layer.cell.get_initial_state(rows))
                for layer in self.recurrent_layers
            ]
        vector = ops.convert_to_tensor(condition)
        if self.condition_encoder is not None:
            vector = self.condition_encoder(vector, training=False)
        return [[dense(vector) for dense in maps] for maps in self.first_states]

    def _vectors(self, tokens):
        # Without the mask of padding: what a step is fed is a token.
        return ops.copy(self.embedding(tokens))

    def _logits(self, x):
        project = self.project
        return project(x) if project else self.embedding(x, reverse=True)

    def _read(self, inputs):
        """Prompts as tokens, lengths and the condition, if there is one."""
        further = {}
        if self.config["condition"] is not None:
            if not isinstance(inputs, dict) or "condition" not in inputs:
                raise ValueError(
                    "This model writes about something, its `condition`. Give "
                    '{"condition": …}, or {"tokens": …, "condition": …}.'
                )
            condition = inputs["condition"]
            further = {"condition": condition}
            if "tokens" not in inputs:
                rows = ops.shape(condition)[0]
                inputs = {"tokens": ops.zeros((rows, 0), "int32")}
        return *prompts.lengths_of(inputs, self.config["pad_id"]), further


def _check_words(units, embedding_dim, one_hot, tie_embeddings):
    if one_hot and (embedding_dim is not None or tie_embeddings):
        raise ValueError(
            "One-hot words have no embeddings. Received: one_hot=True, "
            f"embedding_dim={embedding_dim}, tie_embeddings={tie_embeddings}"
        )
    if tie_embeddings and embedding_dim not in (None, units):
        raise ValueError(
            "`tie_embeddings` needs embeddings as long as the state, which "
            f"scores them. Received: embedding_dim={embedding_dim}, "
            f"units={units}"
        )
