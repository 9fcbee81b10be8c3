"""A model that trains a student beside a frozen teacher."""

import keras
from keras import ops

from keras_attn.training.distribution.distributed_fit import DistributedFit
from keras_attn.training.distribution.global_loss import global_loss
from keras_attn.training.losses.distillation_loss import DistillationLoss

# λ of the paper: equation 3, and its section 5 for "soft".
WEIGHTS = {"hard": 0.5, "soft": 0.1}


@keras.saving.register_keras_serializable(package="keras_attn")
class Distillation(DistributedFit, keras.Model):
    """Trains a student on the labels and on what a teacher says.

        loss = (1 - λ) L(Zc, y) + λ teacher_loss(Zt, Zd)
        hard:  teacher_loss = CE(softmax(Zd), argmax Zt)                  λ 0.5
        soft:  teacher_loss = τ² KL(softmax(Zt / τ) ‖ softmax(Zd / τ))    λ 0.1

    Zc and Zd are logits of the student's class and distillation tokens, Zt the
    teacher's, L the loss of `compile` and what the student adds to it. It is
    fitted like any model; afterwards take `student`.

    Args:
        student: A `ViT` with two class tokens; or any model that returns
            logits, for both terms, or two of them, Zc first.
        teacher: Any model that returns logits of the same inputs. It is
            frozen, and runs in inference mode.
        kind: "hard" or "soft".
        weight: λ, from 0 to 1; None for the paper's.
        temperature: τ of "soft".

    Call arguments:
        inputs: What the student takes.
        training: Whether the student drops anything.

    Returns:
        The heads' logits, (batch, classes) each. Metrics see their mean.

    Reference:
        Touvron et al. 2021, section 4. https://arxiv.org/abs/2012.12877
    """

    def __init__(
        self,
        student: keras.Model,
        teacher: keras.Model,
        *,
        kind: str = "hard",
        weight: float | None = None,
        temperature: float = 3.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.teacher_loss = DistillationLoss(kind, temperature=temperature)
        if weight is not None and not 0 <= weight <= 1:
            raise ValueError(
                f"`weight` must be from 0 to 1, or None. Received: {weight}"
            )
        teacher.trainable = False
        self.student = student
        self.teacher = teacher
        self.kind = kind
        self.weight = weight
        self.temperature = temperature

    def build(self, input_shape):
        for model in (self.student, self.teacher):
            if not model.built:
                model.build(input_shape)

    def call(self, inputs, training=None):
        if not hasattr(self.student, "each_head"):
            return self.student(inputs, training=training)
        tokens = self.student.tokens(inputs, training=training)
        return self.student.each_head(tokens)

    def compute_loss(
        self,
        x=None,
        y=None,
        y_pred=None,
        sample_weight=None,
        training=True,
    ):
        of_class, of_distillation = _heads(y_pred)
        weight = WEIGHTS[self.kind] if self.weight is None else self.weight
        of_labels = super().compute_loss(
            x, y, of_class, sample_weight, training=training
        )
        told = _prediction(self.teacher(x, training=False))
        of_teacher = global_loss(
            self.teacher_loss,
            ops.stop_gradient(told),
            of_distillation,
            sample_weight,
        )
        return (1 - weight) * of_labels + weight * of_teacher

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        return super().compute_metrics(x, y, _prediction(y_pred), sample_weight)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            "name": self.name,
            "student": serialize(self.student),
            "teacher": serialize(self.teacher),
            "kind": self.kind,
            "weight": self.weight,
            "temperature": self.temperature,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        given = keras.saving.deserialize_keras_object(
            config, custom_objects=custom_objects
        )
        return cls(**given)


def _heads(outputs):
    """Logits of the class token and of the distillation token."""
    heads = keras.tree.flatten(outputs)
    if len(heads) not in (1, 2):
        raise ValueError(
            "A student returns the logits of one head, or of two. Received: "
            f"{len(heads)} outputs."
        )
    return heads[0], heads[-1]


def _prediction(outputs):
    """The mean of both heads' logits, (batch, classes)."""
    return (_heads(outputs)[0] + _heads(outputs)[1]) / 2
