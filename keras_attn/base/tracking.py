"""What TensorFlow's checkpoints do not find in a layer by themselves."""

import keras


def hidden_children(owner, listed=None) -> dict:
    """Find the layers in lists and the seeds of a layer or model.

    Keras shows TensorFlow the layers and weights that are attributes. Of the
    rest a `tf.train.Checkpoint` would save nothing, and restore nothing
    without a word. Layers that are Keras' own hide their seeds too, and their
    owner has to show them.

    Args:
        owner: The layer or model.
        listed: Further layers by name, such as those of a functional model.

    Returns:
        Layers and variables, by names that the next run will find again.
    """
    children = {}
    for attribute, value in vars(owner).items():
        # Keras' own lists of what it tracks hold all of this once more.
        if attribute.startswith("_"):
            continue
        children |= _seeds(attribute, value)
        for name, part in _parts(attribute, value):
            children |= _shown(name, part)
    for name, layer in (listed or {}).items():
        children |= _shown(name, layer)
    return children


def _parts(attribute, value):
    if isinstance(value, (list, tuple)):
        return [(f"{attribute}_{i}", part) for i, part in enumerate(value)]
    if isinstance(value, dict):
        return [(f"{attribute}_{key}", part) for key, part in value.items()]
    return []


def _shown(name, part):
    is_layer = isinstance(part, keras.layers.Layer)
    return {**_seeds(name, part), **({name: part} if is_layer else {})}


def _seeds(name, value):
    """What `value` hides, unless its class shows that itself."""
    if isinstance(value, keras.random.SeedGenerator):
        return {name: value.state}
    hides = (
        isinstance(value, keras.layers.Layer)
        and type(value)._trackable_children
        is keras.layers.Layer._trackable_children
    )
    inner = hidden_children(value) if hides else {}
    return {f"{name}_{each}": child for each, child in inner.items()}
