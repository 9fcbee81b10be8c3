"""Which parts of a layer or model are quantised, for its config."""

import keras


def modes(owner) -> dict:
    """Note how the innermost layers are quantised.

    `model.quantize` changes them one by one and tells no layer around them,
    so that no config of those would build them again as they are.

    Args:
        owner: A layer or model.

    Returns:
        For the number of each quantised layer, counted in Keras' own order,
        its mode and the config of its quantisation, as JSON takes them.
    """
    noted = {}
    for number, layer in enumerate(_innermost(owner)):
        if layer.quantization_mode is not None:
            config = getattr(layer, "quantization_config", None)
            noted[str(number)] = {
                "mode": layer.quantization_mode,
                "config": keras.saving.serialize_keras_object(config),
            }
    return noted


def restore(owner, noted):
    """Quantise the innermost layers as they were noted.

    Args:
        owner: A built layer or model, as it was before it was quantised.
        noted: What `modes` returned.
    """
    for number, layer in enumerate(_innermost(owner)):
        note = noted[str(number)] if str(number) in noted else None
        # A layer may have come back quantised by its own config.
        if note is not None and layer.quantization_mode is None:
            config = keras.saving.deserialize_keras_object(note["config"])
            options = {} if config is None else {"config": config}
            layer.quantize(note["mode"], **options)


def _innermost(owner):
    layers = owner._flatten_layers()
    return [x for x in layers if len(list(x._flatten_layers())) == 1]
