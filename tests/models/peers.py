"""Hugging Face's models, tiny, random and quiet."""

import warnings

import numpy as np


def transformers():
    """The library, without its progress bars and advice."""
    with warnings.catch_warnings():
        # torch and transformers warn of each other's deprecated parts.
        warnings.simplefilter("ignore")
        import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers


def sentence_transformers():
    """The library of sentence vectors, as quiet."""
    transformers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import sentence_transformers
        import sentence_transformers.models
    return sentence_transformers


def make(name, config, folder, *, change=None, dtype="float32", **saving):
    """Make a model with random weights, biases included, and save it.

    Args:
        name: Of the class, such as "GPT2LMHeadModel".
        config: Its settings.
        folder: Where `save_pretrained` writes.
        change: Is called with the model before it is saved, if given.
        dtype: Of the weights.
        **saving: For `save_pretrained`.

    Returns:
        The model, ready to be asked.
    """
    import torch

    library = transformers()
    draws = torch.Generator().manual_seed(3)
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(3)
        model = getattr(library, name)(config).eval()
        for weight in model.parameters():
            if not weight.requires_grad:  # such as tables of sines
                continue
            noise = torch.randn(weight.shape, generator=draws)
            weight.add_(0.3 * noise)
        if change is not None:
            change(model)
    model.to(getattr(torch, dtype))
    model.save_pretrained(folder, **saving)
    return model


def ask(model, **inputs):
    """Call a model of torch with arrays, and get arrays."""
    import torch

    inputs = {name: torch.tensor(np.asarray(x)) for name, x in inputs.items()}
    with torch.no_grad():
        outputs = model(**inputs)
    # NumPy knows no bfloat16.
    return {
        name: x.float().numpy()
        for name, x in outputs.items()
        if hasattr(x, "numpy")
    }


def relative_error(found, expected):
    """How far off, as a part of the length of what is expected."""
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)
