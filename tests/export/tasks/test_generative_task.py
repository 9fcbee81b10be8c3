import numpy as np
import pytest

from keras_attn.export.tasks.generative_task import GenerativeTask
from keras_attn.export.tasks.text_generation import TextGeneration
from tests import cpp_loader
from tests.export import served
from tests.export import writers


@pytest.fixture(scope="module")
def compiled(export_task):
    """A GPT with XLA signatures, and what each signature says."""
    return export_task(
        writers.gpt(), tokenizer=writers.TARGET, max_length=5, xla=True
    )


@pytest.mark.slow
def test_xla_signatures_say_the_same(compiled):
    # Five rows, so that there are some to fill the batch up.
    texts = np.array(writers.PROMPTS, object)[[0, 2, 4, 5, 6]]
    wanted = compiled.ask("generate", text=texts)
    found = compiled.ask("generate_xla", text=texts)
    for name in ("text", "valid", "truncated"):
        assert found[name].tolist() == wanted[name].tolist()
    np.testing.assert_allclose(found["score"], wanted["score"], 1e-5)


@pytest.mark.slow
def test_a_server_with_xla_says_the_same(compiled):
    texts = np.array(writers.PROMPTS, object)[[0, 2, 4]]
    wanted = compiled.ask("generate", text=texts)
    (found,) = cpp_loader.run_requests(
        compiled.folder, [("generate_xla", {"text": texts})], disable_xla=False
    )
    assert found["text"].tolist() == wanted["text"].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("search", ["greedy", "sample", "beam"])
def test_a_translators_xla_signatures_say_the_same(export_task, search):
    compiled = export_task(
        writers.transformer(),
        tokenizer={"source": writers.SOURCE, "target": writers.TARGET},
        search=search,
        max_length=6,
        source_length=5,
        xla=True,
    )
    texts = np.array(writers.TEXTS, object)
    for rows in (1, 3, 8):
        wanted = compiled.ask("translate", text=texts[-rows:])
        found = compiled.ask("translate_xla", text=texts[-rows:])
        for name in ("text", "valid", "truncated"):
            assert found[name].tolist() == wanted[name].tolist()
        np.testing.assert_allclose(found["score"], wanted["score"], 1e-5)


@pytest.mark.slow
def test_xla_signatures_with_options_say_the_same(compiled):
    request = {
        "text": np.array(writers.PROMPTS[:3], object),
        "max_length": np.array([5, 3, 9], "int32"),
        "temperature": np.array([0, 1.5, 0], "float32"),
        "seed": np.array([1, 2, 3]),
    }
    wanted = compiled.ask("generate_with_options", **request)
    found = compiled.ask("generate_with_options_xla", **request)
    assert found["text"].tolist() == wanted["text"].tolist()
    assert found["valid"].tolist() == [True, True, False]


def test_the_ops_of_xla_signatures_are_core_ones_too(compiled):
    assert not served.other_ops(compiled.folder)


def test_only_xla_signatures_are_compiled(compiled):
    signatures = compiled.task.signatures()
    names = [each.name for each in signatures if each.compiled]
    assert names == ["generate_xla", "generate_with_options_xla"]
    plain = TextGeneration(
        writers.gpt(), tokenizer=writers.TARGET, max_length=5
    )
    assert [each.name for each in plain.signatures()] == [
        *("generate", "generate_with_options", "score", "embed")
    ]


def test_examples_have_the_dtypes_of_their_signatures(compiled):
    for signature in compiled.task.signatures():
        assert signature.examples
        for example in signature.examples:
            assert example.keys() == signature.inputs.keys()
            for name, spec in signature.inputs.items():
                assert example[name].dtype == spec.dtype.as_numpy_dtype
                assert example[name].shape[1:] == spec.shape[1:]
            assert len({len(array) for array in example.values()}) == 1


def test_a_kind_must_say_how_it_reads():
    with pytest.raises(TypeError, match="abstract"):
        GenerativeTask(None, tokenizer=None, search=None, xla=False)
