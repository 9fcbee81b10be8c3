import pytest
import tensorflow as tf

from keras_attn.export import Servable
from keras_attn.export import export_model
from keras_attn.export import exporting
from keras_attn.export import servable
from keras_attn.export.tasks import registry
from tests.export import writers


@pytest.fixture(scope="session")
def export_task(tmp_path_factory):
    """A function that saves a model's task, as `export_model` does."""

    def export(model, **settings):
        task = registry.for_model(model, **settings)
        folder = tmp_path_factory.mktemp("servable")
        functions = exporting.save(Servable(task, task.signatures()), folder)
        return Exported(model, task, functions, folder)

    return export


class Exported:
    """A model as it is in Python, as it was traced and as it was saved."""

    def __init__(self, model, task, functions, folder):
        self.model = model
        self.task = task
        self.functions = functions
        self.folder = folder

    def ask(self, signature, **inputs):
        """Ask the traced function, in Python."""
        inputs = {name: tf.constant(value) for name, value in inputs.items()}
        outputs = self.functions[signature](**inputs)
        return {name: output.numpy() for name, output in outputs.items()}


# A random model writes padding too, which a forward pass would not look at.
SETTINGS = {
    "greedy": {"forbidden_ids": (0,)},
    "sample": {"forbidden_ids": (0,), "top_k": 5, "seed": 3},
    "beam": {"forbidden_ids": (0,), "width": 3, "length_penalty": 0.5},
}


slowly = pytest.mark.slow


@pytest.fixture(
    scope="session",
    params=[
        "beam",
        pytest.param("greedy", marks=slowly),
        pytest.param("sample", marks=slowly),
    ],
)
def translator(export_task, request):
    """A small Transformer, exported with a search."""
    return export_task(
        writers.transformer(),
        tokenizer={"source": writers.SOURCE, "target": writers.TARGET},
        search=request.param,
        max_length=6,
        source_length=5,
        **SETTINGS[request.param],
    )


@pytest.fixture(
    scope="session",
    params=[
        "sample",
        pytest.param("greedy", marks=slowly),
        pytest.param("beam", marks=slowly),
    ],
)
def writer(export_task, request):
    """A small GPT, exported with a search."""
    return export_task(
        writers.gpt(),
        tokenizer=writers.TARGET,
        search=request.param,
        max_length=5,
        **SETTINGS[request.param],
    )


@pytest.fixture(scope="session")
def toy():
    """A small translator, to be asked in Python."""
    return servable(
        writers.transformer(),
        tokenizer={"source": writers.SOURCE, "target": writers.TARGET},
        max_length=6,
        source_length=5,
    )


@pytest.fixture(scope="session")
def version(toy, tmp_path_factory):
    """Its first version, verified."""
    return export_model(
        toy,
        tmp_path_factory.mktemp("models") / "toy",
        warmup=["h g f"],
        metadata={"description": "Writes letters.", "scores": {"BLEU": 3.5}},
    )
