import dataclasses

import pytest

from examples import flags


@dataclasses.dataclass(frozen=True)
class Config:
    """Settings."""

    steps: int = 3
    rate: float = 0.5
    folder: str = "here"
    quick: bool = False


def test_without_flags_the_defaults_stand():
    assert flags.parse(Config, []) == Config()


def test_flags_fill_the_config_with_the_right_types():
    argv = ["--steps", "7", "--rate", "1", "--folder", "there"]
    config = flags.parse(Config, argv)
    assert config == Config(steps=7, rate=1.0, folder="there")
    assert isinstance(config.rate, float)


def test_a_flag_for_yes_or_no_takes_no_value():
    assert flags.parse(Config, ["--quick"]) == Config(quick=True)
    assert flags.parse(Config, ["--no-quick"]) == Config()


def test_an_unknown_flag_is_refused(capsys):
    with pytest.raises(SystemExit):
        flags.parse(Config, ["--speed", "7"])
    assert "--speed" in capsys.readouterr().err
