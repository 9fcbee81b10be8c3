"""What ViT makes of its tokens: one vector, and the classes' scores."""

import keras
from keras import ops

from keras_attn.attention.pooling import AttentionPooling
from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer

POOLINGS = ("token", "mean", "attention")


@keras.saving.register_keras_serializable(package="keras_attn")
class VisionHead(Layer):
    """Pools the tokens of an image, then scores the classes.

        pooled = tokens(0), or the mean of the patches, evenly or by attention
        logits = W pooled + b

    With a second class token, which learns from a teacher, it is scored by
    weights of its own, and the logits are the mean of both; or nobody reads
    it.

    Args:
        num_classes: How many; None for the pooled vector.
        pooling: "token", "mean" or "attention".
        num_class_tokens: Tokens before the patches: 1 or 2 with "token".
        distillation_head: Whether the second class token is scored too.
        kernel_initializer: Of W.

    Call arguments:
        tokens: (batch, tokens, features), class tokens first.

    Returns:
        (batch, num_classes) in the dtype of the weights, which is float32
        under mixed precision; or (batch, features).

    Reference:
        Touvron et al. 2021, section 4. https://arxiv.org/abs/2012.12877
    """

    def __init__(
        self,
        num_classes: int | None,
        *,
        pooling: str = "token",
        num_class_tokens: int = 1,
        distillation_head: bool = True,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        argument_checks.choice(pooling, "pooling", POOLINGS)
        if num_classes is not None:
            argument_checks.integer(num_classes, "num_classes", at_least=1)
        if pooling == "token" and num_class_tokens not in (1, 2):
            raise ValueError(
                '`pooling="token"` reads one class token, or two, of which the '
                "second learns from a teacher. Received: num_class_tokens="
                f"{num_class_tokens}"
            )
        self.num_classes = num_classes
        self.pooling = pooling
        self.num_class_tokens = num_class_tokens
        self.distillation_head = distillation_head
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.class_dense = self.distillation_dense = None
        if num_classes is not None:
            self.class_dense = self._dense("class")
            if (
                distillation_head
                and pooling == "token"
                and num_class_tokens > 1
            ):
                self.distillation_dense = self._dense("distillation")

    def build(self, tokens_shape):
        features = tokens_shape[-1]
        self.attention_pooling = None
        if self.pooling == "attention":
            self.attention_pooling = AttentionPooling(
                features, name="attention_pooling", dtype=self.dtype_policy
            )
            self.attention_pooling.build((None, None, features))
        for dense in (self.class_dense, self.distillation_dense):
            if dense is not None:
                dense.build((None, features))

    def call(self, tokens):
        if self.num_classes is None:
            return self.pool(tokens)
        logits = list(self.each(tokens).values())
        return sum(logits[1:], logits[0]) / len(logits)

    def pool(self, tokens):
        """Return the (batch, features) vector that the classes are read from.

        Args:
            tokens: As for the call.
        """
        if self.pooling == "token":
            return tokens[:, 0]
        patches = tokens[:, self.num_class_tokens :]
        if self.pooling == "mean":
            return ops.mean(patches, axis=1)
        return self.attention_pooling(patches)

    def each(self, tokens) -> dict:
        """Return the logits of each class token.

        Args:
            tokens: As for the call.

        Returns:
            `{"class", "distillation"}`, the latter only if it has a head;
            (batch, num_classes) each.
        """
        if self.num_classes is None:
            raise ValueError(
                "This model has no head: make it with `num_classes`."
            )
        logits = {"class": self.class_dense(self.pool(tokens))}
        if self.distillation_dense is not None:
            logits["distillation"] = self.distillation_dense(tokens[:, 1])
        return logits

    def reads_like(self, other) -> bool:
        """Whether another's weights mean the same here."""
        names = "num_classes", "pooling", "num_class_tokens"
        return other is not None and all(
            getattr(self, name) == getattr(other, name)
            for name in (*names, "distillation_head")
        )

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "pooling": self.pooling,
            "num_class_tokens": self.num_class_tokens,
            "distillation_head": self.distillation_head,
            "kernel_initializer": serialize(self.kernel_initializer),
        }

    def _dense(self, name):
        return keras.layers.Dense(
            self.num_classes,
            kernel_initializer=self.kernel_initializer.clone(),
            name=name,
            # Logits of bfloat16 have two to three digits.
            dtype=self.variable_dtype,
        )
