"""Parameters of presets, counted."""


def count(model_class, name, **overrides):
    """Count a preset's parameters without making gigabytes of them.

    The count is linear in layers and in tokens, so models of one or two of
    each tell all.
    """
    given = {**model_class.presets[name], **overrides}

    def made(num_layers, vocabulary_size):
        return model_class.from_preset(
            name,
            **overrides
            | {"num_layers": num_layers, "vocabulary_size": vocabulary_size},
        ).count_params()

    least = made(1, 1)
    layer, token = made(2, 1) - least, made(1, 2) - least
    layers, tokens = given["num_layers"], given["vocabulary_size"]
    return least + (layers - 1) * layer + (tokens - 1) * token
