"""Turn a dataclass of settings into command-line flags."""

import argparse
import dataclasses


def parse(config_class, argv=None):
    """Build `config_class` from flags named after its fields."""
    parser = argparse.ArgumentParser(
        description=config_class.__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    # What all trainings have in common comes after what is special.
    own = config_class.__annotations__
    fields = dataclasses.fields(config_class)
    for field in sorted(fields, key=lambda each: each.name not in own):
        # `--compare` is a flag without a value, `--no-compare` its opposite.
        kind = (
            {"action": argparse.BooleanOptionalAction}
            if field.type is bool
            else {"type": field.type}
        )
        parser.add_argument(
            f"--{field.name}",
            default=field.default,
            help=field.type.__name__,
            **kind,
        )
    config = config_class(**vars(parser.parse_args(argv)))
    if hasattr(config, "find_devices"):
        config.find_devices()
    return config
