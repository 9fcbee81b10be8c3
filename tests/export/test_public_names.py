"""What the texts of `keras_attn.export` name can be imported or passed."""

import ast
import builtins
import inspect
import pathlib
import re

import keras
import pytest
import tensorflow as tf

from keras_attn import export
from keras_attn import models
from keras_attn import text

PLACES = (export, models, text, keras, keras.layers, builtins)
PUBLIC = [getattr(export, name) for name in export.__all__]
NAME = r"`([A-Za-z_][\w.]*)(?:\(\w*\))?`"

# What clients send and receive is no Python; see `signatures` of each task.
SERVED = {
    *("predict", "classify", "classify_pairs", "embed", "embed_pairs", "fill"),
    *("regress", "regress_pairs", "tag", "generate", "translate"),
    *("caption", "caption_with_options", "score", "attention", "weights"),
    *("text", "tokens", "scores", "label", "value", "holes", "length"),
    *("embedding", "pooled", "image_bytes", "valid", "truncated"),
    *("answer", "align", "rank", "refer", "region", "features", "boxes"),
    *("text_to_regions", "regions_to_text"),
    *("serving_default", "saved_model.pb", "seed"),
    *("start", "end", "no_answer_score"),
}
# What a search takes, a method of a model that is exported, or an extra.
ELSEWHERE = {"width", "top_k", "encode", "step", "alignment", "serving"}
ELSEWHERE |= {"end_id"}


def is_there(name):
    """Whether a name, maybe dotted, can be had from a public place."""
    first, *rest = name.split(".")
    modules = {"keras": keras, "tf": tf}
    modules["keras_attn"] = __import__("keras_attn")
    for place in PLACES:
        thing = modules.get(first, getattr(place, first, None))
        for part in rest:
            thing = getattr(thing, part, None)
        if thing is not None:
            return True
    return False


def documented(thing):
    """A public thing and, of a class, its own public methods."""
    yield thing
    if inspect.isclass(thing):
        for name, member in inspect.getmembers(thing):
            if not name.startswith("_") and callable(member):
                yield member


def unknown_names(thing):
    """Names in backticks that lead nowhere."""
    own = set(dir(thing)) if inspect.isclass(thing) else set()
    for part in documented(thing):
        signature = inspect.signature(part)
        own |= {*signature.parameters, *dir(signature.return_annotation)}
    # Not what it inherits from `tf.Module`, whose words are its own.
    docstrings = [
        inspect.getdoc(part) or ""
        for part in documented(thing)
        if part.__module__.startswith("keras_attn")
    ]
    names = set(re.findall(NAME, "\n".join(docstrings)))
    names -= own | SERVED | ELSEWHERE
    return {name for name in names if not is_there(name)}


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_docstrings_name_what_there_is(thing):
    assert not unknown_names(thing)


def kinds_of_task(cls):
    for each in cls.__subclasses__():
        yield each
        yield from kinds_of_task(each)


def test_every_task_is_at_the_door():
    tasks = {
        task
        for task in kinds_of_task(export.Task)
        if task.__module__.startswith("keras_attn.")
        and not inspect.isabstract(task)
    }
    assert len(tasks) > 8
    for task in tasks:
        assert getattr(export, task.__name__) is task


def test_errors_name_what_there_is():
    names = set()
    for path in pathlib.Path(export.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise):
                names |= set(re.findall(r"`([A-Z]\w+)", ast.unparse(node)))
    assert "BERT" in names
    assert not {name for name in names if not is_there(name)}


def test_a_name_that_leads_nowhere_is_caught():
    def function(width):
        """Takes `width` and gives a `Gadget` as `export_model` does."""

    function.__module__ = "keras_attn.export.some"
    assert unknown_names(function) == {"Gadget"}
