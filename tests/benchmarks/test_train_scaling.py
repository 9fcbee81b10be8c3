import pytest

from benchmarks import train_scaling


def test_a_ratio_is_the_median_of_those_of_the_turns():
    found = {
        "ours": [[1.0, 9.0, 1.0], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0]],
        "keras": [[2.0, 2.0, 2.0], [4.0, 4.0, 4.0], [3.0, 3.0, 3.0]],
    }
    assert train_scaling.ratio_of(found, "ours", "keras") == 0.5


def test_what_a_save_adds_is_told_from_the_steps_between():
    every, saves = train_scaling.SAVE_EVERY, 3
    intervals = [0.5] * (every * (saves + 1) - 1)
    intervals[0] = 30.0  # traces
    for i in range(saves):
        intervals[every * (i + 1) - 1] += 0.2  # while it is written
        intervals[every * (i + 1)] += 0.1  # in the background
    step, cost = train_scaling.cost_of_saves(intervals, saves)
    assert step == 0.5
    assert cost == pytest.approx(0.3)


def test_the_table_tells_which_targets_are_met():
    found = {
        "keras": [[1.0]],
        "ours": [[0.9]],
        "two devices": [[1.2]],
        "two workers": [[1.0]],
    }
    saving = {"step": 1.0, "save": 1.0, "resumed": 2.0}
    lines = train_scaling.report(found, saving)
    assert "| ours | 0.900 | keras | 0.90 | 1.0 | met |" in lines
    assert "| two devices | 1.200 | ours | 1.33 | 1.25 | NOT met |" in lines
    assert "| two workers | 1.000 | ours | 1.11 | 1.25 | met |" in lines
    assert "2.0% of the time (at most 3%: met)" in lines[-1]


@pytest.mark.slow
def test_every_side_trains(tmp_path, monkeypatch):
    monkeypatch.setattr(train_scaling, "RESULTS", tmp_path)
    train_scaling.main(["--quick", "--save"])
    (path,) = tmp_path.iterdir()
    assert "| two workers |" in path.read_text(encoding="utf-8")
