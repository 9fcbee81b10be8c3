"""Turn a dataclass of settings into command-line flags."""

import argparse
import dataclasses


def parse(config_class, argv=None):
    """Build `config_class` from flags named after its fields."""
    parser = argparse.ArgumentParser(
        description=config_class.__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    for field in dataclasses.fields(config_class):
        parser.add_argument(
            f"--{field.name}",
            type=field.type,
            default=field.default,
            help=field.type.__name__,
        )
    return config_class(**vars(parser.parse_args(argv)))
