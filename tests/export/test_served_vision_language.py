"""A ViLBERT, exported and asked as a server does it."""

import base64

import numpy as np
import pytest

from keras_attn.export import export_model
from keras_attn.export import servable
from keras_attn.export import serve
from tests.export import echo
from tests.export import served
from tests.export.image_files import GOOD
from tests.export.tasks.images.test_vision_language import GRID
from tests.export.tasks.images.test_vision_language import LABELS
from tests.export.tasks.images.test_vision_language import TOKENIZER
from tests.export.tasks.images.test_vision_language import vilbert


@pytest.mark.slow
def test_a_server_answers_questions_on_files(tmp_path):
    model = vilbert("vqa", image=True)
    made = servable(model, tokenizer=TOKENIZER, labels=LABELS)
    assert list(made.signatures) == ["answer", "attention"]
    folder = tmp_path / "answerer"
    version = export_model(made, folder)  # verified in the C++ loader
    assert not served.other_ops(version)
    files = [GOOD["png"], GOOD["wide"], b"no image", GOOD["png"]]
    asked = ["the cat", "sat on the mat", "the cat", ""]
    inputs = {
        "text": asked,
        "image_bytes": [
            {"b64": base64.b64encode(file).decode()} for file in files
        ],
    }
    answers = {}
    with serve(folder, grpc_port=0, rest_port=0) as server:
        for verb in ("serving_default", "attention"):
            status, answer = echo.http(
                server.rest_port,
                "/v1/models/answerer:predict",
                {"inputs": inputs, "signature_name": verb},
            )
            assert status == 200
            answers[verb] = answer["outputs"]
    expected = made.answer(text=asked, image_bytes=files)
    answer = answers["serving_default"]
    assert answer["valid"] == [True, True, False, False]
    assert answer["answer"] == expected["answer"].tolist()
    np.testing.assert_allclose(answer["scores"], expected["scores"], atol=1e-5)
    expected = made.attention(text=asked, image_bytes=files)
    for name in ("text_to_regions", "regions_to_text"):
        np.testing.assert_allclose(
            answers["attention"][name], expected[name], atol=1e-5
        )
    assert np.shape(answers["attention"]["text_to_regions"])[2:] == GRID
