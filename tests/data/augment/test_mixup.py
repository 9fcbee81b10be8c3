import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.augment.mixup import cutmix
from keras_attn.data.augment.mixup import mixup
from keras_attn.data.augment.mixup import mixup_or_cutmix

MIXES = [mixup, cutmix, mixup_or_cutmix]


def dataset(rows=6, batch_size=6, *, size=(7, 5), drop_remainder=True):
    """Row k has the class k and an image that is k / rows everywhere."""
    images = np.zeros((rows, *size, 3), "float32")
    images += (np.arange(rows) / rows)[:, None, None, None]
    labels = np.arange(rows, dtype="int32")
    examples = tf.data.Dataset.from_tensor_slices((images, labels))
    return examples.batch(batch_size, drop_remainder=drop_remainder)


def test_mixup_is_the_equation_for_images_and_labels():
    ((images, labels),) = mixup(dataset(), 6, seed=1).as_numpy_iterator()
    for row, (image, label) in enumerate(zip(images, labels, strict=True)):
        weight = label[row]
        (other,) = (k for k in range(6) if k != row and label[k] > 0)
        expected = weight * row / 6 + (1 - weight) * other / 6
        np.testing.assert_allclose(image, expected, atol=1e-6)
        np.testing.assert_allclose(label[other], 1 - weight, atol=1e-6)


def test_cutmix_labels_are_the_shares_of_pixels():
    batches = cutmix(dataset(), 6, seed=1).repeat(30)
    shares = []
    for images, labels in batches.as_numpy_iterator():
        for row, (image, label) in enumerate(zip(images, labels, strict=True)):
            kept = np.isclose(image[..., 0], row / 6)
            np.testing.assert_allclose(label[row], kept.mean(), atol=1e-6)
            np.testing.assert_allclose(label.sum(), 1, atol=1e-6)
            other = image[..., 0][~kept]
            if other.size:
                expected = np.flatnonzero(np.delete(label, row))
                assert len(expected) == 1
                assert np.ptp(other) == 0
                assert label[round(float(other[0]) * 6)] > 0
            shares.append(kept.mean())
    assert min(shares) < 0.2
    assert max(shares) > 0.95


def test_cutmix_pastes_one_box():
    for images, _ in cutmix(dataset(), 6).repeat(5).as_numpy_iterator():
        for row, image in enumerate(images):
            pasted = ~np.isclose(image[..., 0], row / 6)
            rows, columns = pasted.any(1), pasted.any(0)
            np.testing.assert_array_equal(pasted, np.outer(rows, columns))
            for inside in (rows, columns):
                changes = np.diff(inside, prepend=False, append=False)
                assert changes.sum() in (0, 2)


def test_the_box_of_cutmix_is_as_large_as_the_paper_says():
    # With the centre anywhere and the edges cut off, in the unit square.
    rng = np.random.default_rng(0)
    side = np.sqrt(1 - rng.beta(1, 1, 100_000))
    area = 1.0
    for _ in range(2):
        centre = rng.uniform(size=side.shape)
        area = area * (
            np.minimum(centre + side / 2, 1) - np.maximum(centre - side / 2, 0)
        )
    batches = cutmix(dataset(600, 600, size=(20, 30)), 600)
    kept = [np.diag(labels) for _, labels in batches.repeat(4)]
    np.testing.assert_allclose(np.mean(kept), 1 - area.mean(), atol=0.015)
    np.testing.assert_allclose(np.std(kept), area.std(), atol=0.02)


@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_mixup_weights_follow_beta(alpha):
    batches = mixup(dataset(800, 800, size=(1, 1)), 800, alpha=alpha)
    weights = [np.diag(labels) for _, labels in batches.repeat(5)]
    np.testing.assert_allclose(np.mean(weights), 0.5, atol=0.025)
    variance = 1 / (4 * (2 * alpha + 1))
    np.testing.assert_allclose(np.var(weights), variance, rtol=0.1)


@pytest.mark.parametrize("rows", [2, 3, 6])
def test_a_row_mixes_with_another_row(rows):
    batches = mixup(dataset(rows, rows), rows, alpha=5.0).repeat(20)
    partners = set()
    for _, labels in batches.as_numpy_iterator():
        off_diagonal = labels * (1 - np.eye(rows))
        assert ((off_diagonal > 0).sum(1) == 1).all()
        assert ((off_diagonal > 0).sum(0) == 1).all()
        partners.add(tuple(off_diagonal.argmax(1).tolist()))
    # All circles of 2 or 3 rows, and many of the 120 of 6.
    assert len(partners) >= {2: 1, 3: 2, 6: 15}[rows]


def test_half_is_mixed_and_half_is_cut():
    batches = mixup_or_cutmix(dataset(400, 400), 400).repeat(2)
    num_cut = 0
    for images, labels in batches.as_numpy_iterator():
        own = (np.arange(400) / 400)[:, None, None]
        is_own = np.isclose(images[..., 0], own)
        # A mixed image is even; a cut one is even only where all was pasted
        # or nothing.
        is_mixed = np.ptp(images[..., 0], axis=(1, 2)) == 0
        num_cut += (~is_mixed).sum()
        shares = is_own[~is_mixed].mean((1, 2))
        np.testing.assert_allclose(
            np.diag(labels)[~is_mixed], shares, atol=1e-6
        )
    assert 300 < num_cut < 440


@pytest.mark.parametrize("mix", MIXES)
def test_a_batch_of_one_stays_as_it_is(mix):
    batches = dataset(3, batch_size=1)
    mixed = mix(batches, 4)
    assert mixed.element_spec[0] == batches.element_spec[0]
    for (images, labels), (before, classes) in zip(mixed, batches, strict=True):
        np.testing.assert_allclose(images, before, atol=1e-6)
        np.testing.assert_allclose(labels, np.eye(4)[classes], atol=1e-6)


@pytest.mark.parametrize("mix", MIXES)
def test_shapes_are_known_and_a_short_batch_is_mixed(mix):
    images, labels = mix(dataset(), 8).element_spec
    assert images == tf.TensorSpec((6, 7, 5, 3), tf.float32)
    assert labels == tf.TensorSpec((6, 8), tf.float32)
    shorter = mix(dataset(7, 3, drop_remainder=False), 8)
    assert [len(images) for images, _ in shorter] == [3, 3, 1]


@pytest.mark.parametrize("mix", MIXES)
def test_draws_follow_the_seed_and_the_epoch_and_resume(mix, tmp_path):
    def labels_of(batches):
        return np.concatenate([labels for _, labels in batches])

    def make(seed=2):
        return mix(dataset(24, 6), 24, seed=seed)

    batches = make()
    first = labels_of(batches)
    np.testing.assert_array_equal(labels_of(make()), first)
    assert not np.allclose(labels_of(make(seed=3)), first)
    assert not np.allclose(labels_of(batches), first)

    iterator = iter(batches)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "at"))
    rest = labels_of(iterator)
    iterator = iter(make())
    tf.train.Checkpoint(iterator=iterator).restore(path)
    np.testing.assert_array_equal(labels_of(iterator), rest)


@pytest.mark.parametrize("mix", MIXES)
def test_a_label_outside_the_classes_is_told(mix):
    with pytest.raises(tf.errors.InvalidArgumentError, match="from 0 to 4"):
        list(mix(dataset(), 5))


@pytest.mark.parametrize(
    ("batches", "complaint"),
    [
        (mixup(dataset(), 6), "mixed once"),
        (
            dataset().map(lambda images, labels: images),
            "`\\(images, labels\\)`",
        ),
        (dataset().unbatch(), "batch, height, width"),
        (
            dataset().map(lambda images, labels: ({"image": images}, labels)),
            "`\\(images, labels\\)`",
        ),
    ],
)
def test_batches_of_another_kind_are_told(batches, complaint):
    with pytest.raises(ValueError, match=complaint):
        cutmix(batches, 6)


def test_alpha_must_be_above_0():
    with pytest.raises(ValueError, match="`alpha`"):
        mixup(dataset(), 6, alpha=0.0)
    with pytest.raises(ValueError, match="`alpha`"):
        mixup_or_cutmix(dataset(), 6, cutmix_alpha=-1.0)
