import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.augment.augmentation import augment

FLIP = keras.layers.RandomFlip("horizontal")


def dataset(rows=12, batch_size=3, *, size=(4, 5), drop_remainder=True):
    """Images that are dark on the left, and their numbers as labels."""
    columns = np.linspace(0.1, 0.9, size[1], dtype="float32")
    images = np.broadcast_to(columns[:, None], (rows, *size, 1))
    labels = np.arange(rows, dtype="int32")
    examples = tf.data.Dataset.from_tensor_slices((images, labels))
    return examples.batch(batch_size, drop_remainder=drop_remainder)


def noise(images, seed):
    return images + tf.random.stateless_uniform(tf.shape(images), seed) / 10


def images_of(batches):
    return np.concatenate([images for images, _ in batches])


def test_images_change_and_labels_stay():
    flipped = augment(dataset(rows=60), [FLIP])
    is_flipped = images_of(flipped)[:, 0, 0, 0] > 0.5
    assert 15 < is_flipped.sum() < 45
    labels = np.concatenate([labels for _, labels in flipped])
    assert labels.tolist() == list(range(60))


def test_the_same_seed_gives_the_same_images():
    first, second, other = (
        images_of(augment(dataset(), [noise], seed=seed)) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, other, atol=0.01)


def test_every_epoch_draws_anew():
    batches = augment(dataset().cache(), [noise])
    assert not np.allclose(images_of(batches), images_of(batches), atol=0.01)
    twice = images_of(batches.repeat(2))
    assert not np.allclose(twice[:12], twice[12:], atol=0.01)


def test_every_image_and_every_step_draws_for_itself():
    once = images_of(augment(dataset(), [noise])) - images_of(dataset())
    twice = images_of(augment(dataset(), [noise, noise])) - images_of(dataset())
    assert len(np.unique(once.round(6))) > 200
    # Variances of independent draws add up; a draw twice has four times its
    # variance.
    np.testing.assert_allclose(twice.var() / once.var(), 2, atol=0.5)


def test_an_interrupted_iterator_resumes_with_the_same_images(tmp_path):
    def make():
        return augment(dataset(), [FLIP, noise], seed=2)

    batches = make()
    images_of(batches)
    iterator = iter(batches)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "at"))
    expected = images_of(iterator)

    iterator = iter(make())
    tf.train.Checkpoint(iterator=iterator).restore(path)
    np.testing.assert_array_equal(images_of(iterator), expected)


def test_every_shape_is_known_before_the_first_batch():
    images, labels = augment(dataset(), [FLIP, noise]).element_spec
    assert images == tf.TensorSpec((3, 4, 5, 1), tf.float32)
    assert labels == tf.TensorSpec((3,), tf.int32)


def test_a_step_may_change_the_size():
    batches = augment(dataset(), [keras.layers.RandomCrop(2, 3)])
    assert batches.element_spec[0].shape == (3, 2, 3, 1)
    assert images_of(batches).shape == (12, 2, 3, 1)


@pytest.mark.parametrize("batch_size", [1, 5])
def test_a_short_last_batch_and_a_batch_of_one_are_augmented(batch_size):
    batches = dataset(batch_size=batch_size, drop_remainder=False)
    assert images_of(augment(batches, [FLIP, noise])).shape == (12, 4, 5, 1)


def test_the_image_of_captions_is_augmented_and_the_text_stays():
    batches = dataset().map(
        lambda images, labels: ({"image": images, "target": labels}, labels)
    )
    augmented = augment(batches, [noise])
    assert augmented.element_spec == batches.element_spec
    for (inputs, labels), (before, _) in zip(augmented, batches, strict=True):
        np.testing.assert_array_equal(inputs["target"], labels)
        assert not np.allclose(inputs["image"], before["image"], atol=1e-3)


def test_no_step_changes_nothing():
    augmented = images_of(augment(dataset(), []))
    np.testing.assert_array_equal(augmented, images_of(dataset()))


@pytest.mark.parametrize(
    ("batches", "complaint"),
    [
        (dataset().unbatch(), "`batches`"),
        (
            dataset().map(lambda images, labels: (labels, images)),
            "Received: int32",
        ),
    ],
)
def test_anything_but_batches_of_images_is_told(batches, complaint):
    with pytest.raises(ValueError, match=complaint):
        augment(batches, [FLIP])


def test_a_layer_that_cannot_be_resumed_is_told_at_once():
    layer = keras.layers.RandAugment(value_range=(0, 1))
    with pytest.raises(ValueError, match="rand_augment"):
        augment(dataset(), [layer])
