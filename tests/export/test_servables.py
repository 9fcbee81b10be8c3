import pydoc

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import plot
from keras_attn.export import LoadedModel
from keras_attn.export import export_model
from keras_attn.export import servable
from keras_attn.ops.fused.target import kernel_target
from keras_attn.ops.fused.target import lowered_for
from tests.export import texts
from tests.export import writers

VERBS = ["translate", "translate_with_options", "score", "attention", "embed"]
ASKED = {
    "translate": {"text": writers.TEXTS},
    "translate_with_options": {
        "text": writers.TEXTS,
        "max_length": 4,
        "temperature": 0.7,
        "seed": range(len(writers.TEXTS)),
    },
    "score": {"text": writers.TEXTS, "answer": [b"s t"] * len(writers.TEXTS)},
    "attention": {"text": writers.TEXTS},
    "embed": {"text": writers.TEXTS},
}


@pytest.fixture(scope="module")
def translator(toy):
    return toy


@pytest.fixture(scope="module")
def loaded(version):
    """The same as a server has it, in the C++ session."""
    loaded = LoadedModel(version)
    yield loaded
    loaded.close()


def as_served(signature, inputs):
    """Columns of a request, in the dtypes of a signature."""
    rows = len(writers.TEXTS)
    columns = {}
    for name, spec in signature.inputs.items():
        dtype = spec.dtype.as_numpy_dtype
        values = inputs[name]
        if np.ndim(values) == 0:
            values = [values] * rows
        columns[name] = np.array(list(values), dtype)
    return columns


@pytest.mark.parametrize("verb", VERBS)
def test_what_one_tries_is_what_one_serves(verb, translator, loaded):
    request = as_served(translator.signatures[verb], ASKED[verb])
    wanted = loaded.run(verb, request)
    # Batches of other rows, in another order.
    found = getattr(translator, verb)(**ASKED[verb], batch_size=4, verbose=0)
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        if array.dtype == object:
            texts = [text.decode() for text in array.ravel()]
            assert found[name].ravel().tolist() == texts
            assert found[name].shape == array.shape
        else:
            assert found[name].dtype == array.dtype
            np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6)


def test_inputs_go_by_place_or_by_name(translator):
    by_place = translator.score(["a", "b c"], ["s", "t u"])
    by_name = translator.score(answer=["s", "t u"], text=["a", "b c"])
    assert by_place.keys() == by_name.keys()
    for name, array in by_place.items():
        assert array.tolist() == by_name[name].tolist()
    with pytest.raises(TypeError, match="Received text twice"):
        translator.score(["a"], text=["a"])
    with pytest.raises(TypeError, match=r"takes text, answer\. Received: text"):
        translator.score(["a"])
    with pytest.raises(TypeError, match="Received 3 inputs"):
        translator.score(["a"], ["s"], ["t"])


def test_nothing_is_answered_with_nothing(translator):
    answer = translator.translate([])
    assert answer["text"].shape == answer["valid"].shape == (0,)
    assert {len(rows) for rows in answer.values()} == {0}


def test_each_verb_is_traced_once():
    model = keras.Sequential(
        [keras.Input((2,), name="x"), keras.layers.Dense(3, name="y")]
    )
    made = servable(model)
    traces = []
    predict = made.signatures["predict"].function
    object.__setattr__(
        made.signatures["predict"],
        "function",
        lambda **inputs: traces.append(1) or predict(**inputs),
    )
    for rows in (1, 5, 3):
        made.predict(np.ones((rows, 2), "float32"), batch_size=2, verbose=0)
    assert len(traces) == 1
    # It is the model itself, so what it learns it tells.
    before = made.predict(np.ones((1, 2)))["y"]
    model.layers[-1].bias.assign_add([1.0, 2.0, 3.0])
    after = made.predict(np.ones((1, 2)))["y"]
    np.testing.assert_allclose(after - before, [[1, 2, 3]], rtol=1e-5)


def test_a_model_that_is_trained_on_a_tpu_serves_core_ops():
    class Asked(keras.layers.Layer):
        def call(self, inputs):
            # What attention asks while it is traced.
            targets.append(kernel_target())
            return inputs

    targets = []
    inputs = keras.Input((3,), name="features")
    model = keras.Model({"features": inputs}, Asked()(inputs))
    targets.clear()
    with lowered_for("tpu"):
        servable(model).function("predict")
    assert set(targets) == {"core"}


def test_answers_of_unequal_length_are_padded_alike():
    made = servable(
        texts.bert("token_classification", num_classes=3),
        tokenizer=texts.tokenizer(),
    )
    asked = ["the cat", "a", b"\xff", "the cat a cat"]
    whole = made.tag(asked)
    one_by_one = made.tag(asked, batch_size=1, verbose=0)
    assert whole["labels"].shape[1] > 2 and (whole["labels"] == -1).any()
    for name, array in whole.items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(one_by_one[name], array, atol=1e-6)
        else:
            assert one_by_one[name].tolist() == array.tolist()


def test_progress_is_shown_for_more_than_one_batch(translator, capsys):
    translator.translate(["a", "b", "c"], batch_size=2)
    assert "3/3" in capsys.readouterr().out
    translator.translate(["a", "b", "c"])
    translator.translate(["a", "b", "c"], batch_size=2, verbose=0)
    assert capsys.readouterr().out == ""


def test_its_verbs_can_be_found(translator):
    assert {*VERBS} <= {*dir(translator)}
    manual = pydoc.plain(pydoc.render_doc(translator))
    assert "translate(self, text, *, batch_size=64, verbose=1)" in manual
    assert "seed: (batch) int64." in manual
    assert "translate, translate_with_options, score" in repr(translator)
    with pytest.raises(AttributeError, match=r"no 'summarise'.*translate,"):
        translator.summarise(["a"])


def test_what_cannot_be_asked_is_refused(translator):
    with pytest.raises(ValueError, match=r"no 'summarise'.*translate,"):
        translator.ask("summarise", {"text": ["a"]})
    with pytest.raises(ValueError, match=r"`batch_size`.*batch_size=0"):
        translator.translate(["a"], batch_size=0)


def test_a_servable_has_its_settings_already(translator, tmp_path):
    with pytest.raises(ValueError, match="Received: search, width"):
        export_model(translator, tmp_path / "toy", search="beam", width=2)
    assert not (tmp_path / "toy").exists()


def test_what_it_attends_to_is_drawn_in_two_lines(translator):
    answer = translator.attention(["h g", "a b c"])
    figure = plot.alignment(answer, row=1)
    table = figure.axes[0].images[0].get_array()
    # Three words and END; each row is a distribution over them.
    assert table.shape == (answer["answer_lengths"][1], 4)
    np.testing.assert_allclose(table.sum(axis=1), 1, rtol=1e-5)


def test_tensors_are_taken_too(translator):
    by_list = translator.translate(["a b", "c"])["text"].tolist()
    by_tensor = translator.translate(tf.constant(["a b", "c"]))["text"]
    assert by_tensor.tolist() == by_list
    assert all(isinstance(text, str) for text in by_list)
