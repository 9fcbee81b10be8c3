"""What a JSON file says of a model, with errors that name the file."""

import pathlib

_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}


class Settings:
    """Fields of a JSON file.

    Args:
        path: The file.
        config: Its fields.
        section: What stands before the names of fields in messages, such as
            "encoder.".
    """

    def __init__(self, path: pathlib.Path, config: dict, section: str = ""):
        self.path = path
        self.config = config
        self.section = section

    def setting(self, field: str, default=None):
        """A number of `config.json`, which must be there without default."""
        value = self.config.get(field, default)
        if value is None:
            raise ValueError(
                f"{self.path} has no field {self.section + field!r}."
            )
        if not isinstance(value, (int, float)):
            raise ValueError(f"{self.says(field)}, which should be a number.")
        return value

    def expect(self, **fields):
        """Refuse settings that the model here does not have.

        Args:
            fields: For each field the only value that is supported, which is
                also what a field means that is missing or null.
        """
        for field, wanted in fields.items():
            found = self.config.get(field, wanted)
            if found is not None and found != wanted:
                raise ValueError(
                    f"{self.says(field)}; only {wanted!r} is supported."
                )

    def choose(self, field: str, choices: dict, default: str):
        """Translate a field by a table; another value is refused."""
        value = self.config.get(field, default)
        # A list, unlike a set, may be asked for what cannot be hashed.
        if value not in list(choices):
            raise ValueError(
                f"{self.says(field)}; supported are {sorted(choices)}."
            )
        return choices[value]

    def activation(self, field: str, default: str) -> str:
        """Our name for the activation that a field names."""
        return self.choose(field, _ACTIVATIONS, default)

    def says(self, field: str) -> str:
        """The file and what it says of a field, as a message begins."""
        value = self.config.get(field)
        return f"{self.path} has {self.section}{field}={value!r}"
