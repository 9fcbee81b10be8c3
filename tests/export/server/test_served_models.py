import shutil
import threading
import time
from concurrent import futures

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.bundle.warmup import write_warmup
from keras_attn.export.loader.loaded_model import LoadedModel
from keras_attn.export.server import served_models
from keras_attn.export.server.served_models import ServedModel
from tests.export import echo

# Versions change when a test says so.
NEVER = 3600.0


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Version n multiplies by n + 1."""
    folder = tmp_path_factory.mktemp("versions")
    for version in (1, 2):
        echo.save(folder, version, factor=version + 1.0)
    return folder


@pytest.fixture
def folder(versions, tmp_path):
    shutil.copytree(versions / "1", tmp_path / "echo" / "1")
    return tmp_path / "echo"


@pytest.fixture
def model(folder):
    served = ServedModel(folder, "echo", poll_seconds=NEVER)
    yield served
    served.close()


def publish(versions, folder, version):
    shutil.copytree(versions / str(version), folder / "partial")
    (folder / "partial").rename(folder / str(version))


def factor(loaded):
    inputs = {
        "numbers": np.ones([1, 3], "float32"),
        "times": np.ones([1], "int32"),
    }
    return loaded.run("multiply", inputs)["product"][0, 0]


def state(model):
    return {number: state for number, (state, *_) in model.states().items()}


def test_the_newest_version_takes_over(model, versions, folder):
    with model.use("echo") as (number, loaded):
        assert (number, factor(loaded)) == (1, 2.0)
    publish(versions, folder, 2)
    model.refresh()
    with model.use("echo") as (number, loaded):
        assert (number, factor(loaded)) == (2, 3.0)
    assert state(model) == {1: "END", 2: "AVAILABLE"}


def test_a_version_that_is_taken_away_gives_way_to_the_one_before(
    model, versions, folder
):
    publish(versions, folder, 2)
    model.refresh()
    shutil.rmtree(folder / "2")
    model.refresh()
    with model.use("echo") as (number, loaded):
        assert (number, factor(loaded)) == (1, 2.0)


def test_the_last_version_stays_though_its_folder_is_gone(model, folder):
    shutil.rmtree(folder / "1")
    model.refresh()
    with model.use("echo") as (number, loaded):
        assert (number, factor(loaded)) == (1, 2.0)


def test_a_version_that_does_not_load_leaves_the_old_one_at_work(
    model, versions, folder, caplog, monkeypatch
):
    publish(versions, folder, 2)
    (folder / "2" / "variables" / "variables.index").write_bytes(b"broken")
    model.refresh()
    with model.use("echo", 1) as (_, loaded):
        assert factor(loaded) == 2.0
    assert "Version 2 does not load" in caplog.text
    ended, code, message = model.states()[2]
    assert (ended, bool(code), bool(message)) == ("END", True, True)

    good = versions / "2" / "variables" / "variables.index"
    shutil.copy(good, folder / "2" / "variables")
    model.refresh()
    assert state(model) == {1: "AVAILABLE", 2: "END"}, "tried too soon"
    monkeypatch.setattr(served_models, "RETRY_SECONDS", 0.0)
    model._retry_times.clear()
    model.refresh()
    assert state(model) == {1: "END", 2: "AVAILABLE"}


def test_what_is_asked_for_must_be_loaded(model):
    for wanted, name in [
        (("other",), r"Latest\(other\)"),
        (("echo", 7), r"Specific\(echo, 7\)"),
        (("other", 1), r"Specific\(other, 1\)"),
    ]:
        with pytest.raises(tf.errors.NotFoundError, match=name):
            with model.use(*wanted):
                raise AssertionError("not there")


def test_a_version_in_use_is_freed_after_its_last_answer(
    model, versions, folder
):
    publish(versions, folder, 2)
    with model.use("echo") as (_, loaded):
        change = threading.Thread(target=model.refresh)
        change.start()
        for _ in range(1000):
            if state(model)[1] == "UNLOADING":
                break
            time.sleep(0.01)
        assert state(model) == {1: "UNLOADING", 2: "AVAILABLE"}
        assert factor(loaded) == 2.0
    change.join(timeout=60)
    assert state(model) == {1: "END", 2: "AVAILABLE"}


def test_no_request_fails_while_versions_change(model, versions, folder):
    answers = []
    done = threading.Event()

    def ask():
        while not done.is_set():
            with model.use("echo") as (number, loaded):
                answers.append(factor(loaded) == number + 1.0)

    with futures.ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(ask) for _ in range(3)]
        publish(versions, folder, 2)
        model.refresh()
        shutil.rmtree(folder / "2")
        model.refresh()
        done.set()
        for each in asking:
            each.result(timeout=60)
    assert answers
    assert all(answers)


def test_the_folder_is_watched(versions, folder):
    model = ServedModel(folder, "echo", poll_seconds=0.02)
    publish(versions, folder, 2)
    for _ in range(1000):
        if state(model) == {1: "END", 2: "AVAILABLE"}:
            break
        time.sleep(0.01)
    model.close()
    assert state(model) == {1: "END", 2: "END"}


def test_a_folder_without_a_version_is_refused(tmp_path):
    (tmp_path / "partial").mkdir()
    with pytest.raises(FileNotFoundError, match="holds no version"):
        ServedModel(tmp_path, "echo")


def test_warm_up_requests_are_run(folder):
    write_warmup(folder / "1", [("short", {"text": ["four"]})])
    ServedModel(folder, "echo", poll_seconds=NEVER).close()


@pytest.mark.parametrize(
    ("signature", "inputs", "complaint"),
    [
        ("short", {"text": ["fives"]}, "4 bytes at most"),
        ("short", {"test": ["four"]}, "takes the inputs"),
        ("shorter", {"text": ["four"]}, "no signature"),
    ],
)
def test_a_version_that_fails_its_warm_up_does_not_load(
    folder, signature, inputs, complaint, monkeypatch
):
    closed = []
    monkeypatch.setattr(LoadedModel, "close", lambda it: closed.append(it))
    write_warmup(folder / "1", [(signature, inputs)])
    with pytest.raises((RuntimeError, ValueError), match=complaint):
        ServedModel(folder, "echo", poll_seconds=NEVER)
    assert len(closed) == 1


def test_xla_is_switched_off_if_asked_for(folder, monkeypatch):
    asked = []

    def load(path, *, disable_xla):
        # Not really: it would stay off for the tests that follow.
        asked.append(disable_xla)
        return LoadedModel(path)

    monkeypatch.setattr(served_models, "LoadedModel", load)
    for disable_xla in (False, True):
        ServedModel(
            folder, "echo", poll_seconds=NEVER, disable_xla=disable_xla
        ).close()
    assert asked == [False, True]
