"""What all models are that write to a memory, with Transformer blocks."""

from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.state import State
from keras_attn.models.preset_model import PresetModel


class EncoderDecoder(PresetModel):
    """A model whose decoder writes to what its encoder has read.

        memory    = read(inputs)
        logits(t) = E decoder(E[token(0)] … E[token(t)], memory)

    Subclasses have a `decoder`, which is a `Stack` of `DecoderBlock`s, a
    `target_embedding`, which is E, and say how they read.
    """

    def read(self, inputs):
        """Read what is given beside the target.

        Args:
            inputs: What `encode` takes.

        Returns:
            (rows, source, units) memory, and its (rows, source) padding mask
            or None.
        """
        raise NotImplementedError

    def encode(self, inputs, max_length: int):
        """Read inputs, as the state that `step` goes on from.

        Args:
            inputs: What the model is called with, without the target, of which
                "memory", (rows, source, units), may hold what `memory` makes
                of it; where it is one tensor, also that alone.
            max_length: How many tokens may follow.

        Returns:
            The `State`, rows being the first axis of every leaf.
        """
        self.decoder.check_room(max_length)
        memory, mask = self.read(inputs)
        rows = ops.shape(memory)[0]
        caches = self.decoder.empty_caches(rows, max_length)
        carried = {
            "position": ops.zeros((rows,), "int32"),
            "caches": caches.carried,
        }
        memories = [
            block.project_memory(memory, mask=mask)
            for block in self.decoder.blocks
        ]
        constant = {"caches": caches.constant, "memories": memories}
        return State(carried, constant)

    def teacher_forced(self, inputs, tokens):
        """All steps at once, where it is known what they are fed.

        Args:
            inputs: As for `encode`.
            tokens: (rows, target) ids, the first ones included.

        Returns:
            (rows, target, vocabulary) logits of what follows each token.
        """
        return self._logits(self.decoder(**self._forced(inputs, tokens)))

    def alignment(
        self, inputs, tokens, *, layer: int = -1, head: int | None = None
    ):
        """Where each token of a target attends in the memory.

        Args:
            inputs, tokens: As for `teacher_forced`.
            layer: Which block of the decoder; the last if not given.
            head: Which of its heads; their mean if not given.

        Returns:
            (rows, target, source) float32 attention weights.
        """
        blocks = self.decoder.blocks
        _check_index(layer, "layer", len(blocks))
        weights = self.decoder.alignment(
            **self._forced(inputs, tokens), layer=layer
        )
        if head is None:
            weights = ops.mean(weights, axis=1)
        else:
            _check_index(head, "head", blocks[layer].num_heads)
            weights = weights[:, head]
        return ops.cast(weights, "float32")

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
        x, caches, _ = self.decoder.step(
            self.target_embedding(token),
            State(carried["caches"], constant["caches"]),
            positions,
            constant["memories"],
        )
        carried = {"position": positions + 1, "caches": caches.carried}
        return self._logits(x), State(carried, constant)

    def _logits(self, x):
        """Score every token by the decoder's output."""
        return self.target_embedding(x, reverse=True)

    def _forced(self, inputs, tokens):
        """What the decoder is called with to go all steps at once."""
        memory, mask = self.read(inputs)
        tokens = ops.convert_to_tensor(tokens)
        return {
            "inputs": self.target_embedding(tokens),
            "memory": memory,
            # A step does not ask either whether it is fed padding.
            "mask": ops.ones_like(tokens, dtype="bool"),
            "memory_mask": mask,
        }


def _check_index(value, name, count):
    argument_checks.integer(value, name)
    if not -count <= value < count:
        raise ValueError(
            f"`{name}` is one of {count}, from 0; from the end, from -1. "
            f"Received: {name}={value}"
        )
