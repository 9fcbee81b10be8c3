"""Models that were quantised, or fine-tuned with LoRA, in the server."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.tasks import registry
from tests.export import served
from tests.export import writers

PROMPTS = np.array([b"s", b"t u", b"v w x y"], object)


def with_lora():
    """A model whose low-rank weights change its answers."""
    model = writers.gpt()
    rng = np.random.default_rng(7)
    for block in model.stack.blocks:
        attention = block.self_attention
        for dense in (attention.query_dense, attention.value_dense):
            dense.enable_lora(2)
            change = rng.normal(size=dense.lora_kernel_b.shape)
            dense.lora_kernel_b.assign(change)
    return model


def quantised():
    model = writers.gpt()
    model.quantize("int8")
    return model


# Keras warns of every layer that has nothing to quantise.
@pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")
@pytest.mark.slow
@pytest.mark.parametrize("make_model", [with_lora, quantised])
def test_the_server_answers_like_python(make_model, tmp_path):
    model = make_model()
    task = registry.for_model(model, tokenizer=writers.TARGET, max_length=5)
    served.save(task, tmp_path, "generate")
    (generate,) = [s for s in task.signatures() if s.name == "generate"]
    wanted = generate.function(text=tf.constant(PROMPTS))
    (found,) = served.ask(tmp_path, [("generate", {"text": PROMPTS})])
    assert found["text"].tolist() == wanted["text"].numpy().tolist()
    np.testing.assert_allclose(found["score"], wanted["score"], atol=1e-5)
    assert not served.other_ops(tmp_path)
    # As small in the file as in memory.
    path = str(tmp_path / "variables" / "variables")
    saved = [
        (shape, tf.train.load_variable(path, name).dtype.name)
        for name, shape in tf.train.list_variables(path)
        if shape
    ]
    assert sorted((tuple(shape), dtype) for shape, dtype in saved) == sorted(
        (tuple(weight.shape), weight.value.dtype.name)
        for weight in model.variables
        if weight.shape
    )
