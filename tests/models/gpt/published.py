"""Published sizes, counted from their config.json alone."""

import json

from safetensors.numpy import save_file

from keras_attn.models.checkpoint import Checkpoint
from keras_attn.models.gpt.model import GPT


def count(settings_of, folder, **config):
    """Count the parameters of a model, of which one layer is made.

    Args:
        settings_of: The function that reads `config`.
        folder: Where it is written.
        config: The fields of config.json.
    """
    (folder / "config.json").write_text(json.dumps(config))
    save_file({}, folder / "model.safetensors")
    checkpoint = Checkpoint(folder)
    settings = settings_of(checkpoint)
    if isinstance(settings["attention"], list):
        settings["attention"] = settings["attention"][0]
    small = {"num_layers": 1, "vocabulary_size": 1, "dtype": "bfloat16"}
    model = checkpoint.make(GPT, **settings | small)
    layer = model.stack.blocks[0].count_params()
    token = settings["units"] * (1 if settings["tie_embeddings"] else 2)
    rest = model.count_params() - layer - token
    layers, tokens = settings["num_layers"], settings["vocabulary_size"]
    return rest + layers * layer + tokens * token
