import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.augment.augmentation import augment
from keras_attn.data.augment.steps import apply_step
from keras_attn.data.augment.three_augment import three_augment

SEED = (1, 2)


def same_images(rng, rows, channels=3, size=(8, 9)):
    image = rng.uniform(size=(1, *size, channels)).astype("float32")
    return np.repeat(image, rows, axis=0)


def only(**options):
    """The single step that is left when the others are switched off."""
    steps = three_augment(
        **{"padding": 0, "flip": False, "jitter": 0.0, **options}
    )
    return steps[0]


def test_exactly_one_of_three_happens_equally_often(rng):
    images = same_images(rng, rows=900)
    changed = apply_step(only(), images, SEED).numpy()
    is_grey = np.ptp(changed, axis=-1).max((1, 2)) < 1e-6
    solarized = np.where(images < 0.5, images, 1 - images)
    is_solarized = np.abs(changed - solarized).max((1, 2, 3)) < 1e-6
    is_blurred = ~is_grey & ~is_solarized
    # Four standard deviations of a binomial with p = 1/3.
    for happened in (is_grey, is_solarized, is_blurred):
        assert abs(happened.sum() - 300) < 57
    assert not (is_grey & is_solarized).any()
    # Blur keeps the mean, roughly, and takes from the variance; and the
    # strength differs from image to image.
    variances = changed[is_blurred].var((1, 2, 3))
    assert (variances <= images[0].var() + 1e-6).all()
    assert len(np.unique(variances.round(5))) > 100


def test_grey_images_are_solarised_blurred_or_left(rng):
    images = same_images(rng, rows=300, channels=1)
    changed = apply_step(only(), images, SEED).numpy()
    is_left = np.abs(changed - images).max((1, 2, 3)) < 1e-6
    assert abs(is_left.sum() - 100) < 33


def test_the_crop_shows_the_mirrored_image_at_every_place(rng):
    images = same_images(rng, rows=400, size=(4, 5))
    step = three_augment(padding=2, flip=False, jitter=0.0)[0]
    changed = apply_step(step, images, SEED).numpy()
    padded = np.pad(images[0], [(2, 2), (2, 2), (0, 0)], mode="reflect")
    places = {
        padded[y : y + 4, x : x + 5].tobytes(): (y, x)
        for y in range(5)
        for x in range(5)
    }
    found = [places[image.tobytes()] for image in changed]
    assert len(set(found)) == 25


def test_jitter_changes_each_image_by_factors_of_its_own(rng):
    images = same_images(rng, rows=50)
    _, jitter = three_augment(padding=0, flip=False, jitter=0.3)
    changed = apply_step(jitter, images, SEED).numpy()
    ratios = changed.mean((1, 2, 3)) / images[0].mean()
    assert len(np.unique(ratios.round(4))) > 40
    assert ratios.min() > 0.65
    assert ratios.max() < 1.3
    assert np.ptp(ratios) > 0.3


def test_half_of_the_images_are_mirrored(rng):
    images = same_images(rng, rows=200)
    flip, _ = three_augment(padding=0, jitter=0.0)
    changed = apply_step(flip, images, SEED).numpy()
    is_mirrored = (changed == images[:, :, ::-1]).all((1, 2, 3))
    is_left = (changed == images).all((1, 2, 3))
    assert (is_mirrored ^ is_left).all()
    assert abs(is_mirrored.sum() - 100) < 29


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_it_runs_on_batches_with_static_shapes(rng, channels, batch_size):
    images = rng.uniform(size=(8, 6, 7, channels)).astype("float32")
    labels = np.arange(8, dtype="int32")
    batches = tf.data.Dataset.from_tensor_slices((images, labels)).batch(
        batch_size, drop_remainder=True
    )
    augmented = augment(batches, three_augment())
    assert augmented.element_spec == batches.element_spec
    changed = np.concatenate([images for images, _ in augmented])
    assert np.isfinite(changed).all()
    assert changed.min() >= 0
    assert changed.max() <= 1
    assert (np.abs(changed - images).max((1, 2, 3)) > 0.01).all()


def test_an_iterator_over_it_resumes(rng, tmp_path):
    def make():
        batches = tf.data.Dataset.from_tensor_slices(
            (same_images(np.random.default_rng(0), rows=9), np.arange(9))
        ).batch(3)
        return augment(batches, three_augment(), seed=4)

    iterator = iter(make())
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "at"))
    expected = [images.numpy() for images, _ in iterator]
    iterator = iter(make())
    tf.train.Checkpoint(iterator=iterator).restore(path)
    resumed = [images.numpy() for images, _ in iterator]
    np.testing.assert_array_equal(resumed, expected)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [({"padding": -1}, "`padding`"), ({"jitter": 1.5}, "`jitter`")],
)
def test_wrong_options_are_told(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        three_augment(**options)


def test_images_smaller_than_the_padding_are_told(rng):
    with pytest.raises(ValueError, match="mirrored by less than its size"):
        apply_step(three_augment()[0], same_images(rng, 2, size=(4, 9)), SEED)
