import pytest

from benchmarks import servables
from benchmarks import serving

TURNS = {
    "server": {"rate": 30.0, "durations": [0.01, 0.02, 0.03, 0.04]},
    "Python": {"rate": 1200.0, "durations": [0.2]},
}
OURS = {
    "load": 0.3,
    "answer": 1.5,
    "variables": 10_400_000,
    "whole": 11_000_000,
    "weights": 10_000_000,
}
KERAS = {**OURS, "load": 0.4, "variables": 20_000_000, "whole": 21_000_000}


def test_the_server_is_held_against_python():
    assert serving.request_row("beam", 8, 4, TURNS) == (
        "| beam-4 | 8 | 4 | 30.0 (of 4) | 20 / 40 / 40 | "
        "1,200.0 (of 1) | 200 / 200 / 200 | 0.03 |"
    )


def test_files_are_held_against_their_weights_and_keras():
    lines = serving.file_table({"ours, greedy": OURS, "Keras' export": KERAS})
    assert "| ours, greedy | 10.40 | 1.040 | 11.00 | 1.100 | 300 | 1,500 |" in (
        lines
    )
    assert lines[-2:] == [
        "* ours, greedy, variables / raw weights: 1.040, target at most 1.05: "
        "met",
        "* ours, greedy, load / Keras' export: 0.750, target at most 1.0: met",
    ]


def test_missed_targets_are_told():
    late = {**OURS, "load": 0.5, "variables": 10_600_000}
    lines = serving.file_table({"ours, beam-4": late, "Keras' export": KERAS})
    assert lines[-2].endswith("1.060, target at most 1.05: NOT met")
    assert lines[-1].endswith("1.250, target at most 1.0: NOT met")


def test_a_refusal_stands_where_the_time_would():
    refused = {**KERAS, "message": "XLA is off\n\t [[node]]"}
    del refused["answer"]
    lines = serving.file_table({"peer": refused, "Keras' export": KERAS})
    assert lines[2].endswith("| 400 | XLA is off |")
    del refused["load"]
    lines = serving.file_table({"ours": refused, "Keras' export": KERAS})
    assert lines[2].endswith("| XLA is off | XLA is off |")
    assert lines[-1].endswith("inf, target at most 1.0: NOT met")


def test_every_search_has_a_title():
    titles = [servables.title(search) for search in servables.SEARCHES]
    assert titles == ["ours, greedy", "ours, beam-4"]


def test_help_names_every_size(capsys):
    with pytest.raises(SystemExit, match="0"):
        serving.main(["--help"])
    shown = capsys.readouterr().out
    assert "--vocabulary" in shown
    assert "turns of each side (3)" in shown


@pytest.mark.slow
@pytest.mark.peers
def test_everything_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(serving, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(servables, "LINES", 200)
    sizes = "--vocabulary 60 --layers 1 --width 8 --heads 2 --prompt 9 --new 3"
    turns = "--batches 3 --concurrencies 2 --requests 4 --rounds 1 --loads 1"
    serving.main([*sizes.split(), *turns.split(), "--save"])
    (saved,) = (tmp_path / "results").iterdir()
    report = saved.read_text()
    assert report in capsys.readouterr().out
    assert "| beam-4 | 3 | 2 |" in report
    assert "alike: 64 of 64" in report
    assert report.count("variables / raw weights: ") == 2
    assert "| XLA compilation disabled |" in report
