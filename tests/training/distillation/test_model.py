import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import models
from keras_attn.training.distillation.model import Distillation
from tests.training import cases

BATCH, FEATURES, CLASSES = 6, 3, 5


def make_student(heads=2):
    x = inputs = keras.Input((FEATURES,))
    x = keras.layers.Dense(4, activation="tanh")(x)
    outputs = [keras.layers.Dense(CLASSES)(x) for _ in range(heads)]
    return keras.Model(inputs, outputs[0] if heads == 1 else outputs)


def make_dense():
    return keras.layers.Dense(CLASSES, kernel_initializer="random_normal")


def make_teacher():
    # Both behave differently in training, and one has state that it changes.
    return keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.5),
            make_dense(),
        ]
    )


def compiled(student, teacher=None, *, jit_compile=False, **options):
    model = Distillation(student, teacher or make_teacher(), **options)
    model.compile(
        keras.optimizers.SGD(0.5),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=jit_compile,
    )
    return model


@pytest.fixture
def batch(rng):
    images = rng.normal(size=(BATCH, FEATURES)).astype("float32")
    return images, rng.integers(CLASSES, size=BATCH)


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize(
    ("options", "weight"),
    [
        ({"kind": "hard"}, 0.5),
        ({"kind": "soft", "temperature": 2.0}, 0.1),
        ({"kind": "soft", "weight": 0.7}, 0.7),
    ],
    ids=["hard", "soft", "weighted"],
)
def test_matches_the_equation(heads, options, weight, batch):
    model = compiled(make_student(heads), **options)
    images, labels = batch
    told = np.array(model.teacher(images), "float64")
    said = np.array(model.student(images), "float64").reshape(
        heads, BATCH, CLASSES
    )
    of_labels = cases.mean_crossentropy(labels, said[0], np.ones(BATCH))
    of_teacher = cases.teacher_losses(
        told, said[-1], options["kind"], options.get("temperature", 3.0)
    ).mean()
    expected = (1 - weight) * of_labels + weight * of_teacher
    found = model.evaluate(images, labels, verbose=0, return_dict=True)
    np.testing.assert_allclose(found["loss"], expected, rtol=1e-5)
    best = said.mean(axis=0).argmax(axis=-1)
    np.testing.assert_allclose(found["accuracy"], (best == labels).mean())


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_the_student_learns_and_the_teacher_stays(jit_compile, batch):
    model = compiled(make_student(), jit_compile=jit_compile)
    before = [np.array(x) for x in model.teacher.variables]
    weights = [np.array(x) for x in model.student.trainable_variables]
    dataset = tf.data.Dataset.from_tensors(batch).repeat(3)
    model.fit(dataset, shuffle=False, verbose=0)
    for old, new in zip(before, model.teacher.variables, strict=True):
        np.testing.assert_array_equal(old, new, err_msg=new.path)
    for old, new in zip(
        weights, model.student.trainable_variables, strict=True
    ):
        assert np.any(old != np.array(new)), f"{new.path} has learnt nothing"


def test_only_the_student_has_weights_to_train():
    model = compiled(make_student())
    assert model.trainable_variables == model.student.trainable_variables
    assert model.teacher.non_trainable_variables == model.teacher.variables


def test_each_head_learns_from_its_own_teacher(batch):
    # All that the teacher says is class 4; labels are never that.
    teacher = make_teacher()
    teacher.layers[-1].bias.assign([0.0, 0.0, 0.0, 0.0, 99.0])
    model = compiled(make_student(), teacher)
    images, labels = batch[0], batch[1] % 4
    dataset = tf.data.Dataset.from_tensors((images, labels)).repeat(40)
    model.fit(dataset, shuffle=False, verbose=0)
    of_class, of_distillation = model.predict(images, verbose=0)
    assert (of_distillation.argmax(axis=-1) == 4).all()
    assert (of_class.argmax(axis=-1) != 4).all()


def test_rows_of_no_weight_do_not_count(batch):
    images, labels = batch
    model = compiled(make_student())
    changed = images.copy()
    changed[2:] += 1
    weights = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    first, second = (
        model.evaluate(x, labels, sample_weight=weights, verbose=0)[0]
        for x in (images, changed)
    )
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_goes_on_after_saving_and_loading(batch, tmp_path):
    model = compiled(make_student(), kind="soft", weight=0.3)
    model.fit(*batch, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert not loaded.teacher.trainable
    for each in (model, loaded):
        each.fit(*batch, verbose=0)
    for old, new in zip(model.weights, loaded.weights, strict=True):
        np.testing.assert_allclose(old, new, rtol=1e-6, err_msg=new.path)


def test_any_labels_will_do_that_the_loss_takes(batch):
    model = Distillation(make_student(), make_teacher())
    model.compile("sgd", keras.losses.CategoricalCrossentropy(from_logits=True))
    labels = np.full((BATCH, CLASSES), 1 / CLASSES)
    history = model.fit(batch[0], labels, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


@pytest.mark.parametrize("weight", [-0.1, 1.1])
def test_refuses_a_weight_that_is_none(weight):
    with pytest.raises(ValueError, match="`weight`"):
        Distillation(make_student(), make_teacher(), weight=weight)


def test_refuses_a_student_of_three_heads(batch):
    model = compiled(make_student(3))
    with pytest.raises(ValueError, match="3 outputs"):
        model.evaluate(*batch, verbose=0)


def test_a_vit_learns_by_its_distillation_token(rng):
    student = models.ViT(
        image_size=4,
        patch_size=2,
        num_layers=1,
        num_heads=2,
        units=6,
        num_classes=CLASSES,
        channels=1,
        num_class_tokens=2,
    )
    teacher = keras.Sequential(
        [keras.Input((4, 4, 1)), keras.layers.Flatten(), make_dense()]
    )
    model = compiled(student, teacher)
    images = rng.normal(size=(BATCH, 4, 4, 1)).astype("float32")
    labels = rng.integers(CLASSES, size=BATCH)
    before = [np.array(x) for x in student.trainable_variables]
    model.fit(images, labels, verbose=0)
    for old, new in zip(before, student.trainable_variables, strict=True):
        # Softmax ignores what all keys share.
        if not new.path.endswith("key/bias"):
            assert np.any(old != np.array(new)), f"{new.path} learns nothing"
    heads = model.predict(images, verbose=0)
    assert heads.keys() == {"class", "distillation"}
    np.testing.assert_allclose(
        student.predict(images, verbose=0),
        (heads["class"] + heads["distillation"]) / 2,
        rtol=1e-5,
        atol=1e-6,
    )
