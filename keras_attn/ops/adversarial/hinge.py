"""The hinge losses of a generator and of its discriminator."""

from keras import ops


def discriminator_loss(real, fake):
    """How badly real images are told from made ones.

        loss = mean max(0, 1 - real) + mean max(0, 1 + fake)

    Args:
        real, fake: (batch,) scores of real images and of made ones.

    Returns:
        A number in float32.
    """
    real, fake = (ops.cast(x, "float32") for x in (real, fake))
    return ops.mean(ops.relu(1 - real)) + ops.mean(ops.relu(1 + fake))


def generator_loss(fake):
    """How badly made images pass for real ones: - mean fake, in float32."""
    return -ops.mean(ops.cast(fake, "float32"))
