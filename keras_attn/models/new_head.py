"""A trained model with another head."""

from collections.abc import Sequence


def with_new_head(model, parts: Sequence[str], **changed):
    """Make a model like another, and copy the weights of what both have.

    Args:
        model: The model that is there.
        parts: Attributes whose weights are copied, unless one of the models
            has None there.
        changed: Arguments of the constructor, the `head` among them.

    Raises:
        ValueError: If the model is quantised.
    """
    config = model.get_config()
    if "quantized" in config:
        raise ValueError(
            "A quantised model has no weights to copy into another one. "
            "Call `with_head` first, then `quantize`."
        )
    made = model.from_config({**config, **changed, "name": None})
    for part in parts:
        old, new = getattr(model, part), getattr(made, part)
        if old is not None and new is not None:
            new.set_weights(old.get_weights())
    return made
