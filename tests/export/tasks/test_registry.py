import keras
import pytest

from keras_attn import export
from keras_attn.export.tasks import registry
from keras_attn.export.tasks.task import Task


class Echo(Task):
    """Says what it was made with."""

    def __init__(self, model, *, tokenizer=None, labels=()):
        super().__init__(model)
        self.labels = labels

    def signatures(self):
        return ()


class Searching(Echo):
    """Takes any setting."""

    def __init__(self, model, *, search, **options):
        super().__init__(model)
        self.search = search
        self.options = options


class Model(keras.Sequential):
    """A class of models that somebody registers."""


class Further(Model):
    """One made from it."""


class Captioner(keras.Model):
    """Writes, but to an image: neither a source nor a prompt."""

    def encode(self, inputs, max_length):
        """As the protocol says."""

    def step(self, token, state, index):
        """As the protocol says."""


@pytest.fixture(autouse=True)
def table(monkeypatch):
    """What these tests register is forgotten afterwards."""
    monkeypatch.setattr(registry, "_BY_CLASS", dict(registry._BY_CLASS))


def model(cls=Model, name=None):
    return cls([keras.Input((2,)), keras.layers.Dense(3)], name=name)


def captioner():
    image, target = keras.Input((3,), name="image"), keras.Input((3,))
    return Captioner([image, target], image + target)


def test_a_task_is_found_by_the_class_and_made_with_what_was_given():
    export.register_task(Model, Echo)
    task = registry.for_model(
        model(), labels=["a"], tokenizer=None, search="greedy"
    )
    assert type(task) is Echo
    assert task.labels == ["a"]
    export.register_task(Model, Searching)
    task = registry.for_model(model(), search="greedy", width=3)
    assert type(task) is Searching
    assert task.search == "greedy"
    assert task.options == {"width": 3}


def test_a_subclass_has_the_task_of_its_nearest_class():
    export.register_task(keras.Sequential, Searching)
    export.register_task(Model, Echo)
    assert type(registry.for_model(model(Further))) is Echo
    export.register_task(Further, Searching)
    task = registry.for_model(model(Further), search="greedy")
    assert type(task) is Searching
    assert type(registry.for_model(model())) is Echo


def test_a_function_chooses_by_the_model():
    def choose(model):
        return Echo if model.name == "echo" else Searching

    export.register_task(Model, choose)
    assert type(registry.for_model(model(name="echo"))) is Echo
    task = registry.for_model(model(name="other"), search="greedy")
    assert type(task) is Searching


@pytest.mark.parametrize("wrong", [Model, "Echo", None])
def test_what_is_no_task_is_not_registered(wrong):
    with pytest.raises(ValueError, match="must be a subclass of `Task`"):
        export.register_task(Model, wrong)


@pytest.mark.parametrize("wrong", [Echo, "Model"])
def test_only_classes_of_models_have_a_task(wrong):
    with pytest.raises(
        ValueError, match=r"must be a subclass of `keras\.Model"
    ):
        export.register_task(wrong, Echo)


def test_a_setting_that_the_task_does_not_take_is_refused():
    export.register_task(Model, Echo)
    with pytest.raises(ValueError, match="Echo takes tokenizer, labels"):
        registry.for_model(model(), search="beam")
    with pytest.raises(ValueError, match="Received: width"):
        registry.for_model(model(), search="greedy", width=3)


def test_a_model_that_is_not_functional_is_refused():
    class Mine(keras.Model):
        def call(self, x):
            return x

    mine = Mine()
    mine(keras.ops.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"no task for Mine .*functional"):
        registry.for_model(mine)


def test_a_model_that_writes_is_not_served_as_a_prediction():
    with pytest.raises(ValueError, match=r"Captioner .* no generative task"):
        registry.for_model(captioner())


def test_what_the_refusal_advises_works():
    writer = captioner()
    plain = keras.Model(writer.inputs, writer.outputs)
    task = registry.for_model(plain)
    assert type(task).__name__ == "FunctionalPrediction"
    export.register_task(Captioner, Echo)
    assert type(registry.for_model(writer)) is Echo


def test_a_model_without_weights_is_refused():
    unbuilt = Model([keras.layers.Dense(3)])
    with pytest.raises(ValueError, match="has no weights yet"):
        registry.for_model(unbuilt)
