"""`export_model` of every kind of model but those of texts to texts."""

import keras
import numpy as np
import pytest

from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.export.exporting import export_model
from keras_attn.export.loader.loaded_model import LoadedModel
from tests.export import captioners
from tests.export import image_files
from tests.export import served
from tests.export import texts
from tests.export import writers


def image_classifier():
    image = keras.Input((4, 6, 3), name="image")
    x = keras.layers.Reshape((4, 18))(image)
    x = keras.layers.Flatten()(MultiHeadAttention(2, 4)(x, x))
    return keras.Model(image, keras.layers.Dense(3, name="logits")(x))


def functional():
    tokens = keras.Input((None,), dtype="int32", name="tokens")
    x = keras.layers.Embedding(11, 8, mask_zero=True)(tokens)
    return keras.Model(tokens, {"features": MultiHeadAttention(2, 4)(x, x)})


TEXT = {"text": texts.as_bytes(["the cat", b"\xff", "a [MASK]"])}
IMAGES = {
    "image_bytes": np.array(
        [image_files.GOOD["jpeg"], b"", image_files.GOOD["gif"]], object
    )
}
BERT = {"tokenizer": texts.tokenizer()}
LABELS = {"labels": ["no", "maybe", "yes"]}
KINDS = {
    "classify": (
        lambda: texts.bert("classification", num_classes=3),
        {**BERT, **LABELS, "max_length": 7},
        TEXT,
    ),
    "regress": (lambda: texts.bert("regression"), BERT, TEXT),
    "tag": (
        lambda: texts.bert("token_classification", num_classes=3),
        {**BERT, **LABELS},
        TEXT,
    ),
    "fill": (
        lambda: texts.bert("masked_lm"),
        {**BERT, "num_candidates": 2},
        TEXT,
    ),
    "embed": (texts.bert, BERT, TEXT),
    "classify_images": (
        image_classifier,
        {**LABELS, "value_range": (0, 255)},
        IMAGES,
    ),
    "caption": (
        captioners.captioner,
        {"tokenizer": writers.TARGET, "search": "beam", "max_length": 6},
        IMAGES,
    ),
    "predict": (
        functional,
        {},
        {"tokens": np.array([[1, 2], [3, 0]], "int32")},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", KINDS)
def test_the_exported_model_is_verified_and_answers(verb, tmp_path):
    make_model, settings, request = KINDS[verb]
    folder = export_model(make_model(), tmp_path, **settings)
    assert not served.other_ops(folder)
    loaded = LoadedModel(folder)
    main = loaded.run("serving_default", request)
    named = loaded.run(verb.removesuffix("_images"), request)
    loaded.close()
    for name, output in main.items():
        np.testing.assert_array_equal(output, named[name])
    if verb != "predict":
        assert main["valid"].tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, "tokenizer that it was trained with"),
        ({**BERT, "labels": ["no"]}, "3 classes"),
        ({**BERT, "search": "beam"}, "search"),
        ({**BERT, "value_range": (0, 1)}, "value_range"),
    ],
)
def test_what_does_not_fit_leaves_nothing(settings, complaint, tmp_path):
    model = texts.bert("classification", num_classes=3)
    with pytest.raises(ValueError, match=complaint):
        export_model(model, tmp_path / "model", **settings)
    assert not (tmp_path / "model").exists()
