import threading
import time

import pytest

from benchmarks import asking
from benchmarks import servables

SIZES = servables.Sizes(
    vocabulary=40, layers=1, width=8, heads=2, prompt=7, new=4
)


def test_so_many_are_under_way_at_once():
    together = threading.Barrier(3, timeout=10)
    seen = []

    def answer(texts):
        together.wait()
        seen.append(texts)

    found = asking.turn(
        answer, [["a"], ["b"]], concurrency=3, requests=6, seconds=60
    )
    assert sorted(seen) == [["a"]] * 3 + [["b"]] * 3
    assert len(found["durations"]) == 6
    assert found["durations"] == sorted(found["durations"])
    assert 0 < found["rate"]


def test_a_turn_ends_in_time():
    found = asking.turn(
        lambda texts: time.sleep(0.01),
        [["a"]],
        concurrency=2,
        requests=10_000,
        seconds=0.1,
    )
    assert 2 <= len(found["durations"]) <= 24


def test_a_turn_without_time_still_asks():
    found = asking.turn(
        lambda texts: None, [["a"]], concurrency=2, requests=9, seconds=0
    )
    assert len(found["durations"]) == 2


def test_a_failure_is_not_a_quick_answer():
    def answer(texts):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        asking.turn(answer, [["a"]], concurrency=2, requests=3, seconds=60)


def test_the_best_turn_of_each_side_counts():
    pauses = {"a": iter([0.2, 0.0, 0.2]), "b": iter([0.0, 0.2, 0.2])}
    order = []

    def side(name):
        def answer(texts):
            order.append(name)
            time.sleep(next(pauses[name]))

        return answer

    best = asking.best_turns(
        {"a": side("a"), "b": side("b")},
        [["text"]],
        concurrency=1,
        rounds=3,
        requests=1,
        seconds=60,
    )
    assert order == ["a", "b"] * 3
    assert all(found["durations"][0] < 0.2 for found in best.values())


def test_a_percentile_is_a_duration_that_was_measured():
    durations = [float(number) for number in range(1, 201)]
    found = [asking.percentile(durations, p) for p in (50, 90, 99, 100)]
    assert found == [100, 180, 198, 200]
    assert asking.percentile([7.0], 50) == 7.0


@pytest.mark.parametrize("search", servables.SEARCHES)
def test_python_answers_texts_with_texts(search, monkeypatch):
    monkeypatch.setattr(servables, "LINES", 200)
    tokenizer, prompts = servables.tokenizer_and_prompts(SIZES)
    model = servables.language_model(tokenizer.vocabulary_size, SIZES)
    answer = asking.in_process(
        model, tokenizer, search, SIZES.new, servables.SEARCHES[search]
    )
    answers = answer(prompts[:3])
    assert len(answers) == 3
    assert all(isinstance(each, bytes) for each in answers)
    assert answers == [answer([prompt])[0] for prompt in prompts[:3]]


@pytest.mark.slow
def test_a_server_that_does_not_start_says_why(tmp_path):
    with (
        pytest.raises(RuntimeError, match=r"start\. error: .* no version"),
        asking.served(tmp_path),
    ):
        pass
