import keras
import pytest

from keras_attn.export.tasks import registry
from keras_attn.export.tasks.task import Task


class Echo(Task):
    """Says what it was made with."""

    def __init__(self, model, *, tokenizer=None, labels=()):
        super().__init__(model)
        self.labels = labels

    @staticmethod
    def accepts(model):
        return model.name == "echo"

    def signatures(self):
        return ()


class Searching(Echo):
    """Takes any setting."""

    def __init__(self, model, *, search, **options):
        super().__init__(model)
        self.search = search
        self.options = options

    @staticmethod
    def accepts(model):
        return True


@pytest.fixture(autouse=True)
def two_kinds(monkeypatch):
    monkeypatch.setattr(registry, "TASKS", (Echo, Searching))


def model(name):
    layers = [keras.Input((2,)), keras.layers.Dense(3)]
    return keras.Sequential(layers, name=name)


def test_the_first_task_that_accepts_is_made_with_what_was_given():
    task = registry.for_model(
        model("echo"), labels=["a"], tokenizer=None, search="greedy"
    )
    assert type(task) is Echo
    assert task.labels == ["a"]
    task = registry.for_model(model("other"), search="greedy", width=3)
    assert type(task) is Searching
    assert task.search == "greedy"
    assert task.options == {"width": 3}


def test_a_setting_that_the_task_does_not_take_is_refused():
    with pytest.raises(ValueError, match="Echo takes tokenizer, labels"):
        registry.for_model(model("echo"), search="beam")
    with pytest.raises(ValueError, match="Received: width"):
        registry.for_model(model("echo"), search="greedy", width=3)


def test_a_model_without_a_task_is_refused(monkeypatch):
    monkeypatch.setattr(registry, "TASKS", (Echo,))
    with pytest.raises(ValueError, match="There are: Echo"):
        registry.for_model(model("other"))


def test_a_model_without_weights_is_refused():
    unbuilt = keras.Sequential([keras.layers.Dense(3)], name="echo")
    with pytest.raises(ValueError, match="has no weights yet"):
        registry.for_model(unbuilt)
