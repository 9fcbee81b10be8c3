"""What a text depends on besides its words, as first states."""

import keras

from keras_attn.base import argument_checks


def as_input(condition, dtype):
    """Make the input of a condition.

    Args:
        condition: An integer, the features of a vector; or a functional model
            that makes a vector of, say, an image.
        dtype: Dtype or policy of the model that is conditioned.

    Returns:
        The `keras.Input`, and the model that makes a vector of it, or None.

    Raises:
        ValueError: If it is neither.
    """
    if argument_checks.is_integer(condition):
        size = argument_checks.integer(condition, "condition", at_least=1)
        dtype = keras.dtype_policies.get(dtype).variable_dtype
        return keras.Input((size,), dtype=dtype, name="condition"), None
    argument_checks.vector_model(
        condition, "condition", "the number of a vector's features, or "
    )
    image = condition.inputs[0]
    given = keras.Input(image.shape[1:], dtype=image.dtype, name="condition")
    return given, condition


def state_maps(layers, dtype) -> list:
    """Make what maps a vector to first states.

        h = tanh(W v + b)

    Args:
        layers: Recurrent layers.
        dtype: Dtype or policy of the maps.

    Returns:
        For each layer a list of maps, to h and, of an LSTM, to c: (batch,
        features) to (batch, units).
    """
    return [
        [
            keras.layers.Dense(
                size,
                activation="tanh",
                name=f"first_{state}_{number}",
                dtype=dtype,
            )
            for state, size in zip("hc", layer.state_size, strict=False)
        ]
        for number, layer in enumerate(layers)
    ]
