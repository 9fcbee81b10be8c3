"""The arguments with which a constructor was called, as a config."""

import dataclasses
import functools
import inspect

from keras_attn.blocks.fresh_config import unshared

_CALLS = "_constructor_calls"
_NAMELESS = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.VAR_POSITIONAL,
)


@dataclasses.dataclass(frozen=True)
class ConstructorCall:
    """What the constructor of one class was given, defaults included.

    Args:
        parameters: `inspect.Parameter`s by name, without `self`.
        arguments: Their values by name.
    """

    parameters: dict
    arguments: dict

    def takes(self, name: str) -> bool:
        """Whether the constructor takes an argument of this name."""
        return name in self.parameters or self._variable is not None

    def own_config(self) -> dict:
        """What has a name in the signature, but the policy, as a config."""
        return unshared(self._named())

    def config(self, class_name: str) -> dict:
        """All that was given, but the policy, as a config.

        Args:
            class_name: For errors.

        Raises:
            ValueError: If an argument has no name, or is of a kind that Keras
                cannot write.
        """
        nameless = [
            name
            for name, each in self.parameters.items()
            if each.kind in _NAMELESS and self.arguments[name] != ()
        ]
        if nameless:
            raise ValueError(
                f"{class_name} was made with arguments that have no name: "
                f"{nameless}. A config holds them by name. Name them in the "
                "constructor, or write `get_config` and `from_config`."
            )
        given = self._named()
        if self._variable is not None:
            given |= self.arguments[self._variable]
        given.pop("dtype", None)
        return {
            name: _as_config(name, value, class_name)
            for name, value in given.items()
        }

    @property
    def _variable(self):
        """The name of `**kwargs`, if the signature has them."""
        for name, each in self.parameters.items():
            if each.kind is each.VAR_KEYWORD:
                return name
        return None

    def _named(self):
        left_out = (*_NAMELESS, inspect.Parameter.VAR_KEYWORD)
        return {
            name: self.arguments[name]
            for name, each in self.parameters.items()
            if each.kind not in left_out and name != "dtype"
        }


def recorded(init):
    """Let a constructor note its arguments before it runs."""
    signature = inspect.signature(init)
    _, *names = signature.parameters

    @functools.wraps(init)
    def noting(self, *args, **kwargs):
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        call = ConstructorCall(
            {name: signature.parameters[name] for name in names},
            {name: bound.arguments[name] for name in names},
        )
        # Not as an attribute: Keras would take layers among the arguments for
        # layers of the model.
        vars(self).setdefault(_CALLS, []).append(call)
        init(self, *args, **kwargs)

    # Keras reads signatures in ways that do not look behind a wrapper.
    noting.__signature__ = signature
    return noting


def outermost(model) -> ConstructorCall:
    """The call of the model's own constructor."""
    return vars(model)[_CALLS][0]


def innermost(model) -> ConstructorCall:
    """The call of the constructor that made the network."""
    return vars(model)[_CALLS][-1]


def _as_config(name, value, class_name):
    try:
        return unshared(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The argument {name!r} of {class_name} cannot be written to a "
            f"config: {value!r}. Give its class a `get_config`, or write "
            "`get_config` and `from_config` of the model."
        ) from error
