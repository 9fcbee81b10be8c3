"""What a student's logits cost, beside a teacher's."""

import keras
from keras import ops

from keras_attn.base import argument_checks

KINDS = ("hard", "soft")


@keras.saving.register_keras_serializable(package="keras_attn")
class DistillationLoss(keras.losses.Loss):
    """The teacher's share of the loss in distillation.

        hard:  loss = CE(softmax(Zs), argmax Zt)
        soft:  loss = τ² KL(softmax(Zt / τ) ‖ softmax(Zs / τ))

    with the student's logits Zs and the teacher's Zt. `Distillation` uses it;
    it also stands alone, where a pipeline holds the teacher's logits.

    Args:
        kind: "hard" takes the teacher's best class for a label, "soft" all
            that the teacher says. The paper found "hard" better.
        temperature: τ of "soft"; higher tells more of unlikely classes.

    Call arguments:
        y_true: (batch, classes) logits of the teacher; any other scores of the
            classes will do if `kind` is "hard".
        y_pred: (batch, classes) logits of the student.
        sample_weight: (batch,).

    Returns:
        The mean over the batch.

    Reference:
        Touvron et al. 2021, equations 2 and 3.
        https://arxiv.org/abs/2012.12877
    """

    def __init__(
        self,
        kind: str = "hard",
        *,
        temperature: float = 3.0,
        name: str = "distillation_loss",
        **kwargs,
    ):
        super().__init__(name=name, **kwargs)
        argument_checks.choice(kind, "kind", KINDS)
        argument_checks.above(temperature, "temperature")
        self.kind = kind
        self.temperature = temperature

    def call(self, y_true, y_pred):
        if tuple(y_true.shape[1:]) != tuple(y_pred.shape[1:]):
            raise ValueError(
                "Teacher and student must tell the same classes apart. "
                f"Received: the teacher's logits {tuple(y_true.shape)}, the "
                f"student's {tuple(y_pred.shape)}."
            )
        if self.kind == "hard":
            return ops.sparse_categorical_crossentropy(
                ops.argmax(y_true, axis=-1), y_pred, from_logits=True
            )
        teacher = ops.log_softmax(y_true / self.temperature)
        student = ops.log_softmax(y_pred / self.temperature)
        divergence = ops.sum(ops.exp(teacher) * (teacher - student), axis=-1)
        # Gradients shrink with 1 / τ²; so they weigh the same for every τ.
        return self.temperature**2 * divergence

    def get_config(self):
        return {
            **super().get_config(),
            "kind": self.kind,
            "temperature": self.temperature,
        }
