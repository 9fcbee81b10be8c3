"""Recurrent models that write, exported and asked as a server does it."""

import base64

import numpy as np
import pytest

from keras_attn.decoding import generate
from keras_attn.export import LoadedModel
from keras_attn.export import export_model
from keras_attn.export import servable
from keras_attn.export import serve
from keras_attn.export.graph.signature import text_column
from keras_attn.image.decode import decode_image
from keras_attn.models import RNNCaptioner
from keras_attn.models import RNNLanguageModel
from keras_attn.models import RNNSeq2Seq
from tests import cpp_loader
from tests.export import echo
from tests.export import served
from tests.export.image_files import GOOD
from tests.export.writers import PROMPTS
from tests.export.writers import SOURCE
from tests.export.writers import TARGET
from tests.export.writers import TEXTS
from tests.models.stepping import set_random


def language_model(**options):
    model = RNNLanguageModel(TARGET.vocabulary_size, units=7, **options)
    set_random(model, np.random.default_rng(3), scale=0.8)
    return model


def written(model, prompt):
    """What the forward pass finds likeliest, token by token, but padding."""
    row = TARGET(prompt).numpy().tolist()
    answer = []
    while len(answer) < 4 and TARGET.end_id not in answer:
        logits = model(np.array([row + answer]))[0, -1]
        answer.append(1 + int(np.argmax(logits[1:])))
    return TARGET.detokenize(np.array(answer)).numpy().decode()


@pytest.mark.slow
def test_a_server_writes_what_the_forward_pass_would(tmp_path):
    model = language_model()
    folder = tmp_path / "writer"
    version = export_model(  # which verifies it in the C++ loader
        model,
        folder,
        tokenizer=TARGET,
        max_length=4,
        prompt_length=6,
        forbidden_ids=(0,),
    )
    assert not served.other_ops(version)
    prompts = [text.decode() for text in PROMPTS[:4]]
    with serve(folder, grpc_port=0, rest_port=0) as server:
        status, answer = echo.http(
            server.rest_port, "/v1/models/writer:predict", {"inputs": prompts}
        )
    assert status == 200
    expected = [written(model, prompt) for prompt in prompts]
    assert answer["outputs"]["text"] == expected
    assert len(set(expected)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["additive", "location", None])
def test_a_server_translates_as_the_forward_pass_would(attention, tmp_path):
    model = RNNSeq2Seq(
        SOURCE.vocabulary_size,
        TARGET.vocabulary_size,
        units=7,
        attention=attention,
    )
    set_random(model, np.random.default_rng(3), scale=0.9)
    folder = tmp_path / "translator"
    version = export_model(  # which verifies it in the C++ loader
        model,
        folder,
        tokenizer={"source": SOURCE, "target": TARGET},
        max_length=4,
        source_length=6,
        # The source's END as the target's START: no answer ends with it.
        start_id=TARGET.end_id,
        forbidden_ids=(0,),
    )
    assert not served.other_ops(version)
    texts = [text.decode() for text in TEXTS[:5]]
    with serve(folder, grpc_port=0, rest_port=0) as server:

        def ask(signature):
            _, answer = echo.http(
                server.rest_port,
                "/v1/models/translator:predict",
                {"inputs": texts, "signature_name": signature},
            )
            return answer.get("outputs")

        answers, weights = ask("translate"), ask("attention")
    expected = [translated(model, text) for text in texts]
    assert answers["text"] == expected
    assert len(set(expected)) > 1
    assert (weights is None) == (attention is None)
    if weights:
        # The first text is one token and its end.
        first = np.array(weights["weights"])[0, 0]
        np.testing.assert_allclose(first[:2].sum(), 1.0, rtol=1e-5)


def translated(model, text):
    """What the forward pass finds likeliest, token by token, but padding."""
    source = [*SOURCE(text).numpy().tolist(), SOURCE.end_id]
    answer = []
    while len(answer) < 4 and TARGET.end_id not in answer:
        target = [TARGET.end_id, *answer]
        given = {"source": source, "target": target}
        logits = model({side: np.array([x]) for side, x in given.items()})
        logits = logits[0, -1]
        answer.append(1 + int(np.argmax(logits[1:])))
    return TARGET.detokenize(np.array(answer)).numpy().decode()


# What a random captioner should not write: all but the end.
SPECIAL = (0, 1, 2, 4)
IMAGES = [GOOD["png"], GOOD["wide"], b"no image"]


def captioner(**settings):
    model = RNNCaptioner(
        TARGET.vocabulary_size, units=7, image_shape=(8, 16, 3)
    )
    # Not the encoder: what three random convolutions make grows too large.
    set_random(model.decoder, np.random.default_rng(3))
    settings = {"tokenizer": TARGET, "forbidden_ids": SPECIAL, **settings}
    return servable(model, max_length=5, **settings)


@pytest.mark.slow
def test_a_server_captions_as_the_model_does(tmp_path):
    made = captioner()
    verbs = ["caption", "caption_with_options", "score", "attention"]
    assert list(made.signatures) == verbs
    folder = tmp_path / "captioner"
    version = export_model(made, folder)  # verified in the C++ loader
    assert not served.other_ops(version)
    expected = made.attention(IMAGES)
    column = [{"b64": base64.b64encode(file).decode()} for file in IMAGES]
    with serve(folder, grpc_port=0, rest_port=0) as server:
        status, answer = echo.http(
            server.rest_port,
            "/v1/models/captioner:predict",
            {"inputs": column, "signature_name": "attention"},
        )
        request = {"model": "captioner", "image_bytes": text_column(*IMAGES)}
        called = {
            verb: echo.rpc(server.grpc_port, verb, **request)
            for verb in ("", "attention")
        }
    assert status == 200
    # Over gRPC texts are bytes, and numbers are those of the graph.
    written = [text.encode() for text in expected["text"]]
    for verb, names in (("", ["valid"]), ("attention", ["valid", "weights"])):
        assert called[verb]["text"].tolist() == written
        for name in names:
            np.testing.assert_allclose(
                called[verb][name], expected[name], atol=1e-5
            )
    assert answer["outputs"]["text"] == expected["text"].tolist()
    assert answer["outputs"]["valid"] == [True, True, False]
    weights = np.array(answer["outputs"]["weights"])
    assert weights.shape == (3, 5, 1, 2)
    np.testing.assert_allclose(weights, expected["weights"], atol=1e-5)
    tokens = generate(
        made.model,
        np.stack([decode_image(file, (8, 16)) for file in IMAGES[:2]]),
        max_length=5,
        start_id=TARGET.start_id,
        end_id=TARGET.end_id,
        forbidden_ids=SPECIAL,
    )
    texts = [text.decode() for text in TARGET.detokenize(tokens).numpy()]
    assert answer["outputs"]["text"] == [*texts, ""]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("search", "forbidden"),
    # The best beam of a random model would be nothing but its end.
    [("greedy", SPECIAL), ("beam", (*SPECIAL, TARGET.end_id))],
)
def test_a_captioner_s_xla_signatures_say_the_same(search, forbidden, tmp_path):
    made = captioner(xla=True, search=search, forbidden_ids=forbidden)
    compiled = [name for name in made.signatures if name.endswith("_xla")]
    assert compiled == ["caption_xla", "caption_with_options_xla"]
    options = {
        "max_length": np.array([5, 2, 5], "int32"),
        "temperature": np.zeros(3, "float32"),
        "seed": np.arange(3),
    }
    column = {"image_bytes": text_column(*IMAGES)}
    requests = [("caption_xla", column)]
    if search == "greedy":
        requests.append(("caption_with_options_xla", column | options))
    served.save(made.task, tmp_path, *(name for name, _ in requests))
    answers = cpp_loader.run_requests(tmp_path, requests, disable_xla=False)
    for (name, request), answer in zip(requests, answers, strict=True):
        expected = made.ask(name.removesuffix("_xla"), request)
        assert answer.keys() == expected.keys()
        texts = [text.encode() for text in expected["text"]]
        assert answer["text"].tolist() == texts and texts[0] and not texts[2]
        np.testing.assert_allclose(
            answer["score"], expected["score"], rtol=1e-4, atol=1e-5
        )


def test_numbers_that_a_text_depends_on_are_asked_with_ids(tmp_path):
    model = language_model(cell="simple", condition=3)
    version = export_model(model, tmp_path)
    inputs = {
        "tokens": np.array([[4, 5, 6], [7, 8, 0]], "int32"),
        "condition": np.array([[1, 2, 3], [-1, 0, 1]], "float32"),
    }
    answer = LoadedModel(version).run("predict", inputs)
    np.testing.assert_allclose(
        answer["logits"], model(inputs), rtol=1e-5, atol=1e-5
    )
    assert answer["valid"].all()
