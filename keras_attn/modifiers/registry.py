"""Modifiers by name."""

import keras

from keras_attn.modifiers.alibi import ALiBi
from keras_attn.modifiers.locality import Locality
from keras_attn.modifiers.modifier import Modifier
from keras_attn.modifiers.qk_norm import QKNorm
from keras_attn.modifiers.relative_bias import RelativeBias
from keras_attn.modifiers.rotary import Rotary
from keras_attn.modifiers.sinks import Sinks
from keras_attn.modifiers.soft_cap import SoftCap

NAMES = {
    "rotary": Rotary,
    "alibi": ALiBi,
    "relative_bias": RelativeBias,
    "soft_cap": SoftCap,
    "qk_norm": QKNorm,
    "sinks": Sinks,
    "locality": Locality,
}


def get(identifier) -> Modifier:
    """Make a modifier of what stands for one.

    Args:
        identifier: A modifier, which is returned as it is; the config of one,
            as `keras.saving.serialize_keras_object` writes it; or the name of
            a class as it is written ("RelativeBias") or in snake case
            ("relative_bias"), for that class with its defaults.

    Returns:
        The modifier.
    """
    by_class_name = {cls.__name__: cls for cls in NAMES.values()}
    if isinstance(identifier, Modifier):
        return identifier
    if isinstance(identifier, dict):
        modifier = keras.saving.deserialize_keras_object(
            identifier, custom_objects=by_class_name
        )
        if isinstance(modifier, Modifier):
            return modifier
    if isinstance(identifier, str):
        cls = NAMES.get(identifier) or by_class_name.get(identifier)
        if cls is SoftCap:
            raise ValueError(
                f"The modifier {identifier!r} has no default `cap`. Pass "
                "`keras_attn.modifiers.SoftCap(cap)`, with 50.0 say."
            )
        if cls is not None:
            return cls()
    raise ValueError(
        "A modifier is an instance of `keras_attn.modifiers.Modifier`, its "
        f"config, or one of the names {', '.join(NAMES)}. Received: "
        f"{identifier!r}"
    )
