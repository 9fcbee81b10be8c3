"""Whatever a model writes, its servable answers with text: valid UTF-8."""

import json
import urllib.request

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.server.loopback_server import serve
from keras_attn.export.tasks import registry
from keras_attn.models import BERT
from keras_attn.models import GPT
from keras_attn.models import Transformer
from keras_attn.text import BytePairTokenizer
from keras_attn.text import ByteTokenizer
from keras_attn.text.segmentation.byte_letters import BYTE_LETTERS
from keras_attn.text.special_tokens import DEFAULT
from tests.export import served

BYTES = ByteTokenizer()
PAIRS = BytePairTokenizer([*DEFAULT, *BYTE_LETTERS], [])
# Of "€", b"\xe2\x82\xac", it can write the first two bytes alone.
EURO = (b"\xe2", b"\x82")
SIZES = {"num_layers": 1, "num_heads": 2, "units": 8}
REPLACED = "\ufffd".encode()


def writes_only(tokenizer, *pieces):
    """Settings of a search that leave a model these tokens."""
    wanted = {int(tokenizer([piece]).values[0]) for piece in pieces}
    ids = set(range(tokenizer.vocabulary_size))
    return {"tokenizer": tokenizer, "forbidden_ids": sorted(ids - wanted)}


def gpt(tokenizer):
    return GPT(tokenizer.vocabulary_size, max_length=8, **SIZES)


def transformer():
    return Transformer(vocabulary_size=BYTES.vocabulary_size, **SIZES)


def bert(head, **options):
    size = {"vocabulary_size": BYTES.vocabulary_size, "max_length": 9}
    return BERT(head=head, **size, **SIZES, **options)


def strings_model():
    """A functional model that gives back the strings it is asked with."""
    text = keras.Input((), dtype="string", name="text")
    same = keras.layers.Identity(dtype="string")(text)
    return keras.Model(text, {"text": same, "raw_bytes": same})


def save(folder, model, verb, **settings):
    return served.save(registry.for_model(model, **settings), folder, verb)


def ask(folder, verb, *texts):
    texts = np.array(texts, object)
    (answer,) = served.ask(folder, [(verb, {"text": texts})])
    return answer


@pytest.mark.parametrize(
    "tokenizer",
    [
        pytest.param(BYTES, id="bytes"),
        pytest.param(PAIRS, id="pairs", marks=pytest.mark.slow),
    ],
)
def test_a_generated_text_cut_inside_a_character_is_replaced(
    tokenizer, tmp_path
):
    model, settings = gpt(tokenizer), writes_only(tokenizer, *EURO)
    task = registry.for_model(model, max_length=5, **settings)
    served.save(task, tmp_path / "1", "generate")
    (found,) = [
        each.function(text=tf.constant(["a", "b c"]))
        for each in task.signatures()
        if each.name == "generate"
    ]
    # Python keeps the bytes, of which none is a whole character here.
    written = found["text"].numpy().tolist()
    assert all(set(text) <= set(b"".join(EURO)) and text for text in written)
    answer = ask(tmp_path / "1", "generate", b"a", b"b c")
    assert [text.decode() for text in answer["text"]] == [
        text.decode(errors="replace") for text in written
    ]
    with serve(tmp_path, grpc_port=0, rest_port=0) as server:
        url = f"http://127.0.0.1:{server.rest_port}/v1/models/"
        request = urllib.request.Request(
            f"{url}{server.model_name}:predict",
            json.dumps({"instances": ["a", "b c"]}).encode(),
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            body = response.read()
    rows = json.loads(body.decode("utf-8", "strict"))["predictions"]
    assert [row["text"].encode() for row in rows] == answer["text"].tolist()


@pytest.mark.slow
def test_a_translation_and_its_tokens_are_text(tmp_path):
    settings = {**writes_only(BYTES, EURO[0]), "max_length": 3}
    save(tmp_path, transformer(), "attention", source_length=4, **settings)
    answer = ask(tmp_path, "attention", "é".encode())
    assert answer["text"].tolist() == [3 * REPLACED]
    assert answer["answer_tokens"].tolist() == [[REPLACED] * 3]
    assert answer["source_tokens"][0, :2].tolist() == [REPLACED] * 2


@pytest.mark.slow
def test_tagged_tokens_are_text(tmp_path):
    model = bert("token_classification", num_classes=2)
    save(tmp_path, model, "tag", tokenizer=BYTES)
    answer = ask(tmp_path, "tag", "aé".encode())
    assert answer["tokens"][0, :3].tolist() == [b"a", REPLACED, REPLACED]


@pytest.mark.slow
def test_what_fills_holes_is_text(tmp_path):
    save(
        *(tmp_path, bert("masked_lm"), "fill"),
        tokenizer=BYTES,
        num_candidates=256,
    )
    answer = ask(tmp_path, "fill", b"a[MASK]")
    tokens = [token.decode() for token in answer["tokens"][0, 0]]
    # Half of all bytes are no character by themselves.
    assert tokens.count("\ufffd") == 128
    assert answer["text"][0].decode() == f"a{tokens[0]}"


def test_strings_of_a_functional_model_are_text_unless_named_bytes(tmp_path):
    save(tmp_path, strings_model(), "predict")
    answer = ask(tmp_path, "predict", b"a\xe2\x82", "é".encode())
    assert answer["text"].tolist() == [b"a" + REPLACED, "é".encode()]
    assert answer["raw_bytes"].tolist() == [b"a\xe2\x82", "é".encode()]
