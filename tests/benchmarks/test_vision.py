import time

import pytest

from benchmarks import vision
from benchmarks.vision_sides import MODELS
from benchmarks.vision_sides import images_and_labels
from benchmarks.vision_sides import rows_of

TRAINED = {
    "ours": {"milliseconds": 80.0, "megabytes": 50.0},
    "KerasHub": {"milliseconds": 100.0, "megabytes": 100.0},
    "Keras": {"milliseconds": 90.0, "megabytes": 90.0},
    "ours, XLA": {"milliseconds": 85.0},
    "KerasHub, XLA": {"milliseconds": 110.0},
    "Keras, XLA": {"milliseconds": 70.0},
    "torch": {"milliseconds": 60.0, "megabytes": 40.0},
    "products": {"milliseconds": 75.0},
    "C++, pixels": None,
    "C++, bytes": None,
}
PREDICTED = {
    **TRAINED,
    "C++, pixels": {"milliseconds": 64.0},
    "C++, bytes": {"milliseconds": 70.0},
}


def test_a_row_tells_figures_and_ratios():
    assert vision.row("s16", 224, "train", TRAINED) == (
        "| s16 | 224 | train | 80 ms, 50 MB | 100 ms, 100 MB | 90 ms, 90 MB | "
        "85 ms | 110 ms | 70 ms | 60 ms, 40 MB | 75 ms | – | – | 0.80 | 0.50 "
        "| – |"
    )
    cells = vision.row("s16", 224, "predict_1", PREDICTED).split(" | ")
    # 80 / 60 of the better peer, and 80 / 64 of Python's speed.
    assert cells[-5:] == ["64 ms", "70 ms", "1.33", "–", "1.25 |"]


def test_targets_are_those_of_the_task_and_the_size():
    small, large = (
        vision.targets("s16", pixels, "train", TRAINED) for pixels in (224, 384)
    )
    assert [line.rsplit(": ", 1)[1] for line in small] == ["met"]
    assert "(products alone 0.75) 0.80, target at most 0.9" in small[0]
    assert [line.rsplit(": ", 1)[1] for line in large] == ["met", "met"]
    lines = vision.targets("s16", 224, "predict_1", PREDICTED)
    assert [line.rsplit(": ", 1)[1] for line in lines] == ["NOT met", "met"]


def test_each_side_may_use_xla():
    results = {**TRAINED, "KerasHub, XLA": {"milliseconds": 50.0}}
    assert vision.fastest(results, "ours") == 80
    assert vision.ratios("train", results)["time"] == 80 / 50


def test_the_best_turn_counts():
    old = {"milliseconds": 3.0, "megabytes": 1.0}
    new = {"milliseconds": 2.0, "megabytes": 5.0}
    best = {"milliseconds": 2.0, "megabytes": 1.0}
    assert vision.best_of(old, new) == best


def test_sides_take_turns_and_the_first_call_does_not_count():
    made = []

    def slow_at_first(name):
        if name not in made:
            time.sleep(0.2)
        made.append(name)

    calls = {name: lambda name=name: slow_at_first(name) for name in "ab"}
    best = vision.take_turns(calls, 3)
    assert "".join(made) == "ab" * 4
    assert best.keys() == calls.keys() and max(best.values()) < 0.2


def test_training_has_memory_and_only_prediction_is_served(monkeypatch):
    asked = []

    def answer(what, sides, *sizes):
        asked.append((what, *sides))
        return {side: {what: 10.0 - len(asked)} for side in sides}

    monkeypatch.setattr(vision, "in_its_own_process", answer)
    found = vision.compare("train", "s16", 224, rounds=2, steps=1)
    together = ("milliseconds", *vision.TOGETHER)
    assert asked[:4] == [together, ("milliseconds", "torch")] * 2
    assert asked[4:] == [("megabytes", x) for x in vision.MEASURED]
    assert found["C++, pixels"] is None
    assert found["ours"] == {"milliseconds": 7.0, "megabytes": 5.0}
    asked.clear()
    found = vision.compare("predict_1", "s16", 224, rounds=1, steps=1)
    assert len(asked) == 4 and "megabytes" not in found["ours"]
    assert found["C++, bytes"] == {"milliseconds": 6.0}


def test_a_task_tells_its_batch():
    assert rows_of("train", MODELS["b16"]) == 4
    assert rows_of("predict_8", MODELS["b16"]) == 8
    images, labels = images_and_labels(3, 4)
    assert images.shape == (3, 4, 4, 3) and labels.shape == (3,)
    assert images.dtype == "float32" and 0 <= images.min() <= images.max() <= 1


@pytest.mark.slow
@pytest.mark.peers
def test_every_side_runs():
    lines = vision.main(["--quick", "--tasks", "train", "predict_1"])
    rows = [line for line in lines if line.startswith("| tiny")]
    assert len(rows) == 2
    assert "–" not in rows[1].split("|")[13]
    assert sum("target" in line for line in lines) == 3
