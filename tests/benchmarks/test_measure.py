from benchmarks import measure


def test_steps_take_turns_after_a_first_call_each():
    calls = []
    steps = {name: lambda name=name: calls.append(name) for name in "abc"}
    best = measure.time_steps(steps, rounds=2, seconds=0.0)
    turns = [name for i, name in enumerate(calls) if calls[i - 1 : i] != [name]]
    assert turns == list("abc" * 3)
    assert best.keys() == steps.keys()
    assert all(0 < milliseconds < 1e3 for milliseconds in best.values())


def test_a_step_that_takes_long_runs_twice(monkeypatch):
    monkeypatch.setattr(measure, "ENOUGH_SECONDS", 0.0)
    calls = []
    measure.time_steps({"a": lambda: calls.append("a")}, rounds=3, seconds=1.0)
    assert calls == ["a", "a"]
