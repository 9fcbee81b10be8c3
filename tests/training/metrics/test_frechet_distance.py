import ml_dtypes
import numpy as np
import pytest
from keras import ops

from keras_attn.training import frechet_distance

# Rounding in float64 is that of variances: its root is what zeros come to.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def rows_with(mean, covariance, rng, number=50):
    """Rows whose mean and covariance are exactly these."""
    mean = np.asarray(mean, "float64")
    rows = rng.normal(size=(number, len(mean)))
    white, _ = np.linalg.qr(rows - rows.mean(axis=0))
    root = np.linalg.cholesky(covariance)
    return mean + np.sqrt(number - 1) * white @ root.T


def test_of_uncorrelated_features_it_is_that_of_means_and_deviations(rng):
    means = rng.normal(size=(2, 5))
    deviations = rng.uniform(0.5, 3.0, size=(2, 5))
    one, other = (
        rows_with(mean, np.diag(deviation**2), rng, number)
        for mean, deviation, number in zip(
            means, deviations, (30, 70), strict=True
        )
    )
    expected = np.sum((means[0] - means[1]) ** 2)
    expected += np.sum((deviations[0] - deviations[1]) ** 2)
    np.testing.assert_allclose(frechet_distance(one, other), expected, **CLOSE)


def test_matches_the_equation_of_two_correlated_features(rng):
    covariances = (
        np.array([[2.0, 0.9], [0.9, 1.0]]),
        np.array([[0.5, -0.6], [-0.6, 3.0]]),
    )
    one, other = (rows_with([1.0, -2.0], x, rng) for x in covariances)
    # The root of a 2 × 2 matrix has the trace √(trace + 2 √determinant).
    product = covariances[0] @ covariances[1]
    root = np.sqrt(np.trace(product) + 2 * np.sqrt(np.linalg.det(product)))
    expected = np.trace(sum(covariances)) - 2 * root
    np.testing.assert_allclose(frechet_distance(one, other), expected, **CLOSE)
    np.testing.assert_allclose(frechet_distance(other, one), expected, **CLOSE)


def test_the_same_features_in_any_order_are_at_no_distance(rng):
    rows = rng.normal(size=(40, 7)) @ rng.normal(size=(7, 7))
    np.testing.assert_allclose(
        frechet_distance(rows, rng.permutation(rows)), 0, atol=1e-10
    )
    moved = frechet_distance(rows, rows + 3)
    np.testing.assert_allclose(moved, 7 * 3**2, rtol=1e-10)


def test_one_feature_is_enough(rng):
    one, other = (rows_with([m], [[s**2]], rng) for m, s in ((1, 2), (4, 7)))
    np.testing.assert_allclose(
        frechet_distance(one, other), 3**2 + 5**2, **CLOSE
    )


def test_a_feature_that_never_changes_counts_by_its_mean(rng):
    rows = rng.normal(size=(20, 3)) * [1.0, 0.0, 0.0]
    other = np.add(rows, [0.0, 2.0, 0.0])
    np.testing.assert_allclose(frechet_distance(rows, other), 4, rtol=1e-6)


def test_takes_tensors_and_few_rows(rng):
    rows = rng.normal(size=(4, 6)).astype("float32")  # fewer than features
    tensor = ops.convert_to_tensor(rows)
    expected = frechet_distance(rows, 2 * rows)
    assert frechet_distance(tensor, 2 * tensor) == expected > 0
    half = rows.astype(ml_dtypes.bfloat16)
    np.testing.assert_allclose(
        frechet_distance(half, 2 * half), expected, rtol=0.02
    )


@pytest.mark.parametrize(
    ("features", "others", "sentence"),
    [
        (np.zeros((5, 3)), np.zeros((5, 4)), r"same features.*\(5, 4\)"),
        (np.zeros((5, 2, 2)), np.zeros((5, 4)), "Flatten or average"),
        (np.zeros((1, 3)), np.zeros((5, 3)), "at least two rows"),
        (np.full((5, 3), np.nan), np.zeros((5, 3)), "must be finite"),
    ],
)
def test_refuses_what_are_no_features(features, others, sentence):
    with pytest.raises(ValueError, match=sentence):
        frechet_distance(features, others)
