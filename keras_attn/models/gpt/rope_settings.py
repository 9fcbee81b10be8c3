"""The rotary positions that a config.json describes, in its two spellings."""

from keras_attn.models.checkpoint import Checkpoint
from keras_attn.modifiers.rotary import Rotary

# Our names of the numbers that a kind of scaling takes.
_NUMBERS = {
    "default": {},
    "linear": {"factor": "factor"},
    "llama3": {
        "factor": "factor",
        "low_freq_factor": "low",
        "high_freq_factor": "high",
        "original_max_position_embeddings": "original_length",
    },
}


def rotary(checkpoint: Checkpoint) -> Rotary:
    """Make the `Rotary` of a checkpoint.

    transformers 5 writes one field, `rope_parameters`; before there were two,
    `rope_theta` and `rope_scaling`, of which the second was null for none.

    Args:
        checkpoint: Its `config` is looked at.
    """
    config, path = checkpoint.config, checkpoint.path
    field = "rope_scaling" if config.get("rope_scaling") else "rope_parameters"
    given = config.get(field) or {}
    nested = [name for name, part in given.items() if isinstance(part, dict)]
    if nested:
        raise ValueError(
            f"{path} has {field} of layers, {nested[0]!r} being one; only "
            "those of all layers are supported."
        )
    # The oldest files name the kind "type".
    kind = given.get("rope_type", given.get("type", "default"))
    if kind not in _NUMBERS:
        raise ValueError(
            f"{path} has {field} of rope_type={kind!r}; supported are "
            f"{sorted(_NUMBERS)}."
        )
    length = config.get("max_position_embeddings")
    found = {
        "rope_theta": config.get("rope_theta", 10_000.0),
        "partial_rotary_factor": config.get("partial_rotary_factor") or 1,
        "original_max_position_embeddings": length,
        **given,
    }
    for name in ("rope_theta", "partial_rotary_factor", *_NUMBERS[kind]):
        value = found.get(name)
        if not isinstance(value, (int, float)) or value <= 0:
            raise ValueError(
                f"{path} has {field} with {name}={value!r}, which should be a "
                "number above 0."
            )
    if found["partial_rotary_factor"] != 1:
        raise ValueError(
            f"{path} has partial_rotary_factor="
            f"{found['partial_rotary_factor']}; only 1 is supported."
        )
    scaling = {ours: found[name] for name, ours in _NUMBERS[kind].items()}
    return Rotary(
        base=found["rope_theta"],
        scaling={"kind": kind, **scaling} if scaling else None,
    )
