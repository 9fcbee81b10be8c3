import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.training.losses.distillation_loss import DistillationLoss
from tests.training import cases

BATCH, CLASSES = 4, 5


@pytest.fixture
def logits(rng):
    return 3 * rng.normal(size=(2, BATCH, CLASSES))


@pytest.mark.parametrize("kind", ["hard", "soft"])
@pytest.mark.parametrize("weighted", [False, True])
def test_matches_the_equation(kind, weighted, logits, rng):
    weights = rng.uniform(size=BATCH) if weighted else np.ones(BATCH)
    loss = DistillationLoss(kind, temperature=2.5, dtype="float64")
    losses = cases.teacher_losses(*logits, kind, 2.5)
    np.testing.assert_allclose(
        loss(*logits, weights if weighted else None),
        (weights * losses).mean(),
        rtol=1e-12,
    )


def test_a_student_that_says_the_same_costs_nothing(logits):
    loss = DistillationLoss("soft", dtype="float64")
    np.testing.assert_allclose(loss(logits[0], logits[0] + 7), 0, atol=1e-12)


def test_half_precision_is_computed_in_single(logits):
    # Their exponentials are more than float16 can hold.
    halves = (20 * logits).astype("float16")
    for kind in ("hard", "soft"):
        loss = DistillationLoss(kind)(*halves)
        assert loss.dtype == "float32"
        losses = cases.teacher_losses(*halves.astype("float64"), kind, 3.0)
        np.testing.assert_allclose(loss, losses.mean(), rtol=1e-4)


@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_gradients_reach_the_student_under_xla(kind, logits):
    @tf.function(jit_compile=True)
    def gradient(teacher, student):
        with tf.GradientTape() as tape:
            tape.watch(student)
            loss = DistillationLoss(kind, dtype="float64")(teacher, student)
        return tape.gradient(loss, student)

    teacher, student = logits
    np.testing.assert_allclose(
        gradient(tf.constant(teacher), tf.constant(student)),
        cases.slopes(
            lambda z: cases.teacher_losses(teacher, z, kind, 3.0).mean(),
            student,
        ),
        atol=1e-8,
    )


def test_comes_back_from_its_config():
    loss = DistillationLoss("soft", temperature=2.0)
    twin = keras.losses.deserialize(keras.losses.serialize(loss))
    assert twin.get_config() == loss.get_config()


@pytest.mark.parametrize(
    ("init", "complaint"),
    [({"kind": "warm"}, "`kind`"), ({"temperature": 0}, "`temperature`")],
)
def test_refuses_what_it_cannot_do(init, complaint):
    with pytest.raises(ValueError, match=complaint):
        DistillationLoss(**init)


def test_refuses_a_teacher_of_other_classes(logits):
    with pytest.raises(ValueError, match=r"same classes.*\(4, 4\).*\(4, 5\)"):
        DistillationLoss()(logits[0][:, :4], logits[1])
