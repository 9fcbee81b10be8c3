"""Captioners without recurrence, exported and asked as a server does it."""

import base64

import numpy as np
import pytest

from keras_attn.decoding import generate
from keras_attn.export import export_model
from keras_attn.export import servable
from keras_attn.export import serve
from keras_attn.image.decode import decode_image
from keras_attn.models import TransformerCaptioner
from tests.export import echo
from tests.export import served
from tests.export.image_files import GOOD
from tests.export.writers import TARGET
from tests.models.stepping import set_random

SHAPE = (8, 16, 3)
GRIDS = {"cnn": (1, 2), "pixels": (2, 4)}


def captioner(kind):
    """A small one, with random weights."""
    patches = {"patch_size": 4} if kind == "pixels" else {}
    model = TransformerCaptioner(
        TARGET.vocabulary_size,
        num_layers=1,
        num_heads=2,
        units=8,
        image_shape=SHAPE,
        **patches,
    )
    # Not a CNN: what three random convolutions make grows too large.
    set_random(model.decoder, np.random.default_rng(3))
    return model


@pytest.mark.slow
@pytest.mark.parametrize("kind", GRIDS)
def test_a_server_captions_as_the_model_does(kind, tmp_path):
    model = captioner(kind)
    special = (0, 1, 2, 4)
    made = servable(
        model, tokenizer=TARGET, max_length=5, forbidden_ids=special
    )
    verbs = ["caption", "caption_with_options", "score", "attention"]
    assert list(made.signatures) == verbs
    folder = tmp_path / "captioner"
    version = export_model(made, folder)  # verified in the C++ loader
    assert not served.other_ops(version)
    files = [GOOD["png"], GOOD["wide"], b"no image"]
    expected = made.attention(files)
    column = [{"b64": base64.b64encode(file).decode()} for file in files]
    with serve(folder, grpc_port=0, rest_port=0) as server:
        status, answer = echo.http(
            server.rest_port,
            "/v1/models/captioner:predict",
            {"inputs": column, "signature_name": "attention"},
        )
    assert status == 200
    assert answer["outputs"]["text"] == expected["text"].tolist()
    assert answer["outputs"]["valid"] == [True, True, False]
    weights = np.array(answer["outputs"]["weights"])
    assert weights.shape == (3, 5, *GRIDS[kind])
    np.testing.assert_allclose(weights, expected["weights"], atol=1e-5)
    tokens = generate(
        model,
        np.stack([decode_image(file, SHAPE[:2]) for file in files[:2]]),
        max_length=5,
        start_id=TARGET.start_id,
        end_id=TARGET.end_id,
        forbidden_ids=special,
    )
    texts = [text.decode() for text in TARGET.detokenize(tokens).numpy()]
    assert answer["outputs"]["text"] == [*texts, ""]
