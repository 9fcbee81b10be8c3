"""What every captioner must do, whatever its decoder is."""

import keras
import numpy as np

from keras_attn.decoding import generate
from keras_attn.training import MaskedCrossentropy

SHAPE = [16, 24, 3]
VOCABULARY = 11


def make_batch(rng):
    """Images and captions, one of which is padded."""
    target = rng.integers(1, VOCABULARY, size=(3, 6))
    target[1, 4:] = 0
    image = rng.uniform(size=(3, *SHAPE)).astype("float32")
    return {"image": image, "target": target}


def check_search(model, image, search):
    """It writes; and greedily what the forward pass finds likeliest."""
    options = {"beam": {"width": 3}, "sample": {"seed": 1}}.get(search, {})
    settings = dict(max_length=4, start_id=2, end_id=3, search=search)
    tokens = generate(model, image, **settings, **options)
    tokens = np.array(tokens[0][:, 0] if search == "beam" else tokens)
    assert tokens.shape == (3, 4)
    if search == "greedy":
        fed = np.concatenate([[[2]] * 3, tokens[:, :-1]], axis=1)
        logits = model.teacher_forced(image, fed)
        ended = np.cumsum(tokens == 3, axis=1) - (tokens == 3) > 0
        best = np.where(ended, 3, np.argmax(logits, axis=-1))
        np.testing.assert_array_equal(tokens, best)


def batch_norm_cnn():
    """A model to a grid of 2 × 3 cells, with a batch norm."""
    image = keras.Input(SHAPE)
    x = keras.layers.Conv2D(4, 8, strides=8)(image)
    return keras.Model(image, keras.layers.BatchNormalization()(x))


def check_frozen(model, cnn, batch):
    """Only one that is not frozen learns, or computes else in training."""
    inputs = {**batch, "image": 5 + 3 * batch["image"]}
    before = [np.array(weight) for weight in cnn.weights]
    model.compile("sgd", MaskedCrossentropy(), jit_compile=False)
    model.fit(inputs, batch["target"], verbose=0)
    same = [
        np.array_equal(weight, value)
        for weight, value in zip(cnn.weights, before, strict=True)
    ]
    assert same == [not cnn.trainable] * len(before)
    # In training it computes what it does afterwards.
    trained, asked = (
        np.array(model(inputs, training=training)) for training in (True, False)
    )
    assert np.allclose(trained, asked, atol=1e-5) == (not cnn.trainable)


def check_image_model(make, rng):
    """An image model of Keras is what a captioner is made on."""
    cnn = keras.applications.MobileNet(
        (64, 64, 3), alpha=0.25, include_top=False, weights=None
    )
    model = make(cnn)
    assert model.grid == (2, 2)
    image = rng.uniform(size=(2, 64, 64, 3)).astype("float32")
    found = model.alignment(image, np.array([[2, 3, 4]] * 2))
    assert found.shape == (2, 3, 2, 2)
