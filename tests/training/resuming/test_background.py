import threading
import warnings

import pytest

from keras_attn.training.resuming.background import BackgroundWriter


def full_disk():
    raise OSError(28, "No space left on device")


def test_it_writes_while_the_caller_goes_on():
    go, written = threading.Event(), []

    def write(name, *, number):
        go.wait(10)
        written.append((name, number))

    with BackgroundWriter(str) as writer:
        writer.submit(write, "a", number=1)
        writer.poll()
        assert not written
        go.set()
        writer.submit(write, "b", number=2)
        assert written[:1] == [("a", 1)], "one at a time"
    assert written == [("a", 1), ("b", 2)]


def test_a_full_disk_is_warned_about_each_time():
    with BackgroundWriter(lambda: "Training goes on.") as writer:
        for _ in range(2):
            writer.submit(full_disk)
            with pytest.warns(UserWarning, match="No space.*Training goes on"):
                writer.wait()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            writer.wait()


def test_a_failure_is_noticed_without_waiting():
    with BackgroundWriter(str) as writer:
        writer.submit(full_disk)
        with pytest.warns(UserWarning, match="No space"):
            while writer._future is not None:
                writer.poll()


def test_a_mistake_is_an_error():
    with BackgroundWriter(str) as writer:
        writer.submit(lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            writer.wait()
