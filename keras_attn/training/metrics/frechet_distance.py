"""How far the features of made images are from those of real ones."""

import numpy as np
from keras import ops


def frechet_distance(features, others) -> float:
    """How far two sets of features are apart, each taken as a Gaussian.

        distance = |m - n|² + trace(C + D - 2 (C D)^½)

    with the means m and n and the covariances C and D of the two. Of the
    features of images it is the Fréchet inception distance (FID), if those
    are Inception's. It shrinks with the number of rows: compare distances
    of equally many, and have several times as many rows as features.

    Args:
        features: (batch, features) numbers, such as what a classifier has
            before its logits.
        others: (batch, features), as wide; their number may differ.

    Returns:
        A number, 0 for equal means and covariances; computed in float64.

    Reference:
        Heusel et al. 2017, equation 6. https://arxiv.org/abs/1706.08500
    """
    one, other = _as_rows(features), _as_rows(others)
    if one.shape[1] != other.shape[1]:
        raise ValueError(
            "Both must have the same features. Received: shapes "
            f"{one.shape} and {other.shape}"
        )
    apart = np.sum((one.mean(axis=0) - other.mean(axis=0)) ** 2)
    roots = [_root_of_covariance(rows) for rows in (one, other)]
    spread = sum(np.sum(root**2) for root in roots)  # trace(C + D)
    # C D has the eigenvalues of (C^½ D^½)(C^½ D^½)ᵀ: unlike the square root
    # of C D itself, singular values are real also where C has no inverse.
    shared = np.linalg.svd(roots[0] @ roots[1], compute_uv=False).sum()
    return float(max(apart + spread - 2 * shared, 0.0))


def _as_rows(features):
    """A float64 matrix, or a ValueError that says what is wrong."""
    rows = np.asarray(ops.convert_to_numpy(features)).astype("float64")
    if rows.ndim != 2 or len(rows) < 2:
        raise ValueError(
            "Features must be (batch, features), at least two rows of them. "
            f"Received: shape {rows.shape}. Flatten or average what has more "
            "axes."
        )
    if not np.isfinite(rows).all():
        raise ValueError("Features must be finite. Received: NaN or infinity")
    return rows


def _root_of_covariance(rows):
    """The symmetric square root of the covariance, (features, features)."""
    covariance = np.atleast_2d(np.cov(rows, rowvar=False))
    values, vectors = np.linalg.eigh(covariance)
    # Rounding makes zeros a little negative.
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
