import pytest
import tensorflow as tf

from keras_attn.training.resuming import workers


class Described(tf.distribute.MultiWorkerMirroredStrategy):
    """A strategy of several workers that does not wait for the others."""

    def __init__(self, jobs, task_type, task_id):
        resolvers = tf.distribute.cluster_resolver
        self._resolver = resolvers.SimpleClusterResolver(
            tf.train.ClusterSpec(jobs), task_type=task_type, task_id=task_id
        )

    @property
    def cluster_resolver(self):
        return self._resolver


ADDRESSES = ["a:1", "b:1"]


@pytest.mark.parametrize(
    ("jobs", "task", "expected"),
    [
        ({"worker": ADDRESSES}, ("worker", 0), True),
        ({"worker": ADDRESSES}, ("worker", 1), False),
        ({"chief": ["c:1"], "worker": ADDRESSES}, ("chief", 0), True),
        ({"chief": ["c:1"], "worker": ADDRESSES}, ("worker", 0), False),
    ],
)
def test_one_worker_is_the_chief(jobs, task, expected):
    strategy = Described(jobs, *task)
    assert workers.is_chief(strategy) == expected
    assert workers.number_of_workers(strategy) == sum(map(len, jobs.values()))


def test_one_program_is_its_own_chief():
    for strategy in (
        tf.distribute.get_strategy(),
        tf.distribute.MirroredStrategy(["CPU:0"]),
    ):
        assert workers.is_chief(strategy)
        assert workers.number_of_workers(strategy) == 1


def test_the_default_strategy_distributes_nothing():
    assert not workers.is_distributed(tf.distribute.get_strategy())
    mirrored = tf.distribute.MirroredStrategy(["CPU:0"])
    assert workers.is_distributed(mirrored)


def test_a_lost_worker_is_told_with_what_to_do():
    error = tf.errors.UnavailableError(None, None, "heartbeats")
    strategy = Described({"worker": ADDRESSES}, "worker", 0)
    with (
        pytest.raises(RuntimeError, match=r"continue from run/step-2.state"),
        workers.lost(strategy, lambda: "run/step-2.state"),
    ):
        raise error
    # There is no other.
    with (
        pytest.raises(tf.errors.UnavailableError),
        workers.lost(tf.distribute.get_strategy(), str),
    ):
        raise error


def test_workers_that_differ_are_told(monkeypatch):
    strategy = Described({"worker": ADDRESSES}, "worker", 0)
    # What two workers would find that have 3 and 5.
    found = {"MEAN": 4.0, "SUM": 2.0}
    monkeypatch.setattr(workers, "_reduce", lambda _, name, value: found[name])
    with pytest.raises(ValueError, match="not shared"):
        workers.check_same(strategy, 3, "not shared")
    found["SUM"] = 0.0
    workers.check_same(strategy, 4, "not shared")
    workers.check_same(tf.distribute.get_strategy(), 3, "not shared")


@pytest.mark.parametrize("value", [True, False])
def test_any_worker_may_ask_for_something(value):
    mirrored = tf.distribute.MirroredStrategy(["CPU:0"])
    assert workers.any_of_them(mirrored, value) == value
