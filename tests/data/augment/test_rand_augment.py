import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.augment.augmentation import augment
from keras_attn.data.augment.rand_augment import rand_augment
from keras_attn.data.augment.steps import apply_step

SEED = (1, 2)


def same_images(rng, rows, channels=3):
    image = rng.uniform(0.1, 0.8, (1, 12, 10, channels)).astype("float32")
    return np.repeat(image, rows, axis=0)


def count_kinds(images):
    kinds = {image.round(4).tobytes() for image in np.asarray(images)}
    return len(kinds)


@pytest.mark.parametrize(("channels", "num_kinds"), [(3, 23), (1, 21)])
def test_every_step_is_taken_in_each_direction(rng, channels, num_kinds):
    # Five steps have one direction (nothing, autocontrast, equalise, solarise,
    # posterise) and nine have two. The colour of grey images stays.
    (step,) = rand_augment(num_steps=1, magnitude=7)
    images = same_images(rng, 1_400, channels)
    changed = apply_step(step, images, SEED).numpy()
    assert count_kinds(changed) == num_kinds
    is_left = np.abs(changed - images).max((1, 2, 3)) < 1e-6
    # Four standard deviations of a binomial with p = 1/14, or 2/14.
    expected, tolerance = {3: (100, 39), 1: (200, 53)}[channels]
    assert abs(is_left.sum() - expected) < tolerance


def test_images_of_a_batch_take_as_many_steps_as_asked(rng):
    steps = rand_augment(num_steps=3)
    assert len(steps) == 3
    images = same_images(rng, rows=64)
    for number, step in enumerate(steps):
        images = step(images, tf.constant([number, 5]))
    assert count_kinds(images) > 45


def test_magnitude_0_only_stretches_contrast(rng):
    (step,) = rand_augment(num_steps=1, magnitude=0)
    changed = apply_step(step, same_images(rng, rows=200), SEED)
    # Nothing, autocontrast and equalise; posterise to 8 bits rounds.
    assert count_kinds(np.round(np.asarray(changed) * 255)) == 3


def test_a_larger_magnitude_changes_more(rng):
    images = same_images(rng, rows=200)
    distances = []
    for magnitude in (2, 10):
        (step,) = rand_augment(num_steps=1, magnitude=magnitude)
        changed = apply_step(step, images, SEED).numpy()
        distances.append(np.abs(changed - images).mean())
    assert distances[1] > 1.5 * distances[0]


def test_it_runs_on_batches_and_resumes(rng, tmp_path):
    images = rng.uniform(size=(12, 9, 8, 3)).astype("float32")
    labels = np.arange(12, dtype="int32")
    examples = tf.data.Dataset.from_tensor_slices((images, labels))
    batches = examples.batch(4, drop_remainder=True)
    augmented = augment(batches, rand_augment(num_steps=1), seed=3)
    assert augmented.element_spec == batches.element_spec

    iterator = iter(augmented)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "at"))
    expected = np.concatenate([images for images, _ in iterator])
    assert expected.min() >= 0
    assert expected.max() <= 1
    iterator = iter(augmented)
    tf.train.Checkpoint(iterator=iterator).restore(path)
    resumed = np.concatenate([images for images, _ in iterator])
    np.testing.assert_array_equal(resumed, expected)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"num_steps": 0}, "`num_steps`"),
        ({"magnitude": 11}, "`magnitude`"),
        ({"magnitude": -1}, "`magnitude`"),
    ],
)
def test_wrong_options_are_told(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        rand_augment(**options)
