import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from keras_attn.data.augment.steps import BATCHED
from keras_attn.data.augment.steps import apply_step
from keras_attn.data.augment.steps import check_step
from keras_attn.data.augment.steps import one_of

SEED = (3, 4)

LAYERS = {
    layers.AutoContrast: {"value_range": (0, 1)},
    layers.RandomBrightness: {"factor": 0.4, "value_range": (0, 1)},
    layers.RandomContrast: {"factor": 0.4, "value_range": (0, 1)},
    layers.RandomFlip: {"mode": "horizontal"},
    layers.RandomRotation: {"factor": 0.2},
    layers.RandomShear: {"x_factor": 0.4, "y_factor": 0.4},
    layers.RandomTranslation: {"height_factor": 0.4, "width_factor": 0.4},
    layers.RandomZoom: {"height_factor": (-0.4, 0.0)},
}
RANDOM = [kind for kind in BATCHED if kind is not layers.AutoContrast]
ONE_AT_A_TIME = [
    layers.RandomCrop(4, 4),
    layers.RandomGaussianBlur(1.0, 3, (0.1, 1.0), value_range=(0, 1)),
    layers.RandomErasing(1.0, value_range=(0, 1)),
]


def same_images(rng, rows=12):
    image = rng.uniform(size=(1, 6, 7, 3)).astype("float32")
    return np.repeat(image, rows, axis=0)


def num_different(images):
    return len({image.tobytes() for image in np.asarray(images)})


@pytest.mark.parametrize("kind", RANDOM)
def test_layers_draw_for_each_image(rng, kind):
    changed = apply_step(kind(**LAYERS[kind]), same_images(rng), SEED)
    assert num_different(changed) == (2 if kind is layers.RandomFlip else 12)


@pytest.mark.parametrize(
    "layer", ONE_AT_A_TIME, ids=lambda layer: type(layer).__name__
)
def test_layers_that_draw_once_for_a_batch_draw_for_each_image(rng, layer):
    changed = apply_step(layer, same_images(rng), SEED)
    assert num_different(changed) > 5


@pytest.mark.parametrize(
    "layer",
    [
        layers.AutoContrast(value_range=(0, 1)),
        layers.Equalization(value_range=(0, 1)),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_layers_that_draw_nothing_see_each_image_alone(rng, layer):
    images = rng.uniform(0.2, 0.7, (3, 6, 7, 3)).astype("float32")
    images[1] *= 0.5
    together = apply_step(layer, images, SEED)
    for index in range(3):
        alone = apply_step(layer, images[index : index + 1], SEED)
        np.testing.assert_allclose(together[index], alone[0], atol=1e-6)


def test_the_seed_alone_decides(rng):
    images = same_images(rng)
    layer = layers.RandomRotation(0.2)
    first = apply_step(layer, images, SEED)
    np.testing.assert_array_equal(first, apply_step(layer, images, SEED))
    assert not np.allclose(first, apply_step(layer, images, (3, 5)))


def test_a_layer_without_randomness_is_called(rng):
    images = same_images(rng, rows=2)
    changed = apply_step(layers.Rescaling(0.5), images, SEED)
    np.testing.assert_allclose(changed, 0.5 * images)


def test_half_precision_comes_back_as_float32(rng):
    layer = layers.RandomFlip("horizontal", dtype="mixed_bfloat16")
    changed = apply_step(layer, same_images(rng), SEED)
    assert changed.dtype == tf.float32


def test_values_stay_between_0_and_1(rng):
    changed = apply_step(
        lambda images, seed: 4 * images - 1, same_images(rng), SEED
    )
    assert changed.numpy().min() == 0
    assert changed.numpy().max() == 1


@pytest.mark.parametrize(
    "layer",
    [
        layers.RandAugment(value_range=(0, 1)),
        layers.AugMix(value_range=(0, 1)),
        layers.GaussianNoise(0.1),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_a_layer_with_state_of_its_own_is_told(rng, layer):
    with pytest.raises(ValueError, match=type(layer).__name__):
        apply_step(layer, same_images(rng, rows=2), SEED)


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        (layers.MixUp(), "mixup"),
        (layers.CutMix(), "cutmix"),
        (layers.RandomBrightness(0.1), r"value_range=\(0, 1\)"),
        ("flip", "'flip'"),
    ],
)
def test_a_step_that_cannot_work_is_told(step, complaint):
    with pytest.raises(ValueError, match=complaint):
        check_step(step)
    with pytest.raises(ValueError, match=complaint):
        one_of([step])


def constant(value):
    return lambda images, seed: tf.fill(tf.shape(images), value)


def test_one_of_takes_each_step_equally_often(rng):
    step = one_of([constant(0.0), constant(0.5), constant(1.0)])
    images = tf.zeros((3_000, 2, 2, 1))
    changed = step(images, tf.constant(SEED)).numpy()
    assert (changed == changed[:, :1, :1]).all()
    _, counts = np.unique(changed[:, 0, 0, 0], return_counts=True)
    # Four standard deviations of a binomial with p = 1/3.
    np.testing.assert_allclose(counts, 1_000, atol=105)


def test_one_of_keeps_every_image_in_its_row():
    images = tf.reshape(tf.range(20.0) / 40, (20, 1, 1, 1))
    step = one_of(
        [lambda images, seed: images, lambda images, seed: images + 0.5]
    )
    changed = step(images, tf.constant(SEED)).numpy().ravel()
    np.testing.assert_allclose(changed % 0.5, np.arange(20) / 40, atol=1e-6)
    assert 0 < (changed >= 0.5).sum() < 20


def test_one_of_works_when_a_step_gets_no_image(rng):
    equalize = layers.Equalization(value_range=(0, 1))
    step = one_of([equalize, layers.RandomRotation(0.2), constant(1.0)])
    images = same_images(rng, rows=1)
    means = [
        float(tf.reduce_mean(step(images, tf.constant([number, 5]))))
        for number in range(12)
    ]
    assert 0.99 < max(means)
    assert len(set(means)) > 4


def test_one_of_nothing_is_told():
    with pytest.raises(ValueError, match="at least one"):
        one_of([])


def test_every_listed_layer_is_tried():
    assert set(LAYERS) == set(BATCHED)
    assert all(issubclass(kind, keras.layers.Layer) for kind in LAYERS)
