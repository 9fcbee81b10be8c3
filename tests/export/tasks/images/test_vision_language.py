import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.tasks import registry
from keras_attn.export.tasks.images.vision_language import VisionLanguage
from keras_attn.image.decode import decode_image
from keras_attn.models import ViLBERT
from tests.export import served
from tests.export import texts
from tests.export.image_files import GOOD
from tests.models.stepping import set_random

TOKENIZER = texts.tokenizer()
SHAPE, GRID, FEATURES, CLASSES = (4, 6, 3), (2, 3), 5, 3
LABELS = ["no", "maybe", "yes"]
SIZES = {
    "num_layers": 1,
    "num_heads": 2,
    "units": 4,
    "num_region_layers": 1,
    "num_region_heads": 2,
    "region_units": 6,
    "num_co_heads": 2,
    "co_units": 8,
    "max_length": texts.MAX_LENGTH,
    "num_region_classes": 7,
}
BOXES = np.array([[0, 0, 0.5, 1], [0.25, 0.5, 1, 1], [0, 0, 0, 0]], "float32")
ASKED = ["the cat", "a mats , é!", "sat on the mat"]


def vilbert(head, *, image):
    regions = {"region_features": FEATURES}
    if image:
        regions = {"image_shape": SHAPE, "patch_size": 2}
    if head == "vqa":
        regions["num_classes"] = CLASSES
    model = ViLBERT(TOKENIZER.vocabulary_size, head=head, **SIZES, **regions)
    set_random(model, np.random.default_rng(0))
    return model


def told(model, asked, **seen):
    """What the model says of rows as in training."""
    ids = TOKENIZER(tf.constant(asked))
    tokens = [
        [TOKENIZER.start_id, *row, TOKENIZER.end_id] for row in ids.to_list()
    ]
    tokens = tf.ragged.constant(tokens).to_tensor(TOKENIZER.pad_id)
    given = {"tokens": tokens, "segments": tf.zeros_like(tokens)}
    given |= {name: tf.convert_to_tensor(x) for name, x in seen.items()}
    return given, model(given)


def pixels(*names):
    files = [decode_image(GOOD[name], SHAPE[:2], 3) for name in names]
    return tf.stack(files)


def files(*rows):
    return np.array([GOOD.get(row, row) for row in rows], object)


@pytest.fixture(scope="module")
def by_image(tmp_path_factory):
    model = vilbert("vqa", image=True)
    task = VisionLanguage(model, tokenizer=TOKENIZER, labels=LABELS)
    folder = tmp_path_factory.mktemp("image")
    return model, served.save(task, folder, "answer", "attention")


def test_the_server_answers_like_python(by_image):
    model, folder = by_image
    names = ("png", "wide", "jpeg")
    request = {"text": texts.as_bytes(ASKED), "image_bytes": files(*names)}
    empty = {name: column[:0] for name, column in request.items()}
    answer, seen, nothing = served.ask(
        folder, [("answer", request), ("attention", request), ("answer", empty)]
    )
    given, logits = told(model, ASKED, image=pixels(*names))
    scores = tf.nn.softmax(logits).numpy()
    np.testing.assert_allclose(answer["scores"], scores, atol=1e-5)
    best = [LABELS[number].encode() for number in scores.argmax(axis=1)]
    assert answer["answer"].tolist() == best
    assert answer["valid"].all() and not answer["truncated"].any()
    assert nothing["scores"].shape == (0, CLASSES)
    *_, forth, back = model.read(given, return_attention_scores=True)
    rows, length = given["tokens"].shape
    forth = np.mean(forth[-1], axis=1)[:, :, 1:]
    back = np.mean(back[-1], axis=1)[:, 1:]
    np.testing.assert_allclose(
        seen["text_to_regions"],
        forth.reshape(rows, length, *GRID),
        atol=1e-5,
    )
    np.testing.assert_allclose(
        seen["regions_to_text"], back.reshape(rows, *GRID, length), atol=1e-5
    )


def test_bad_rows_are_flagged_and_leave_the_others_alone(by_image):
    model, folder = by_image
    long = "cat " * texts.MAX_LENGTH
    asked = ["the cat", "", "the cat", b"\xff", long, "é"]
    rows = files("png", "png", b"no image", "png", "png", b"")
    request = {"text": texts.as_bytes(asked), "image_bytes": rows}
    (answer,) = served.ask(folder, [("answer", request)])
    assert answer["valid"].tolist() == [1, 0, 0, 0, 1, 0]
    assert answer["truncated"].tolist() == [0, 0, 0, 0, 1, 0]
    bad = ~answer["valid"]
    assert answer["answer"][bad].tolist() == [b""] * 4
    assert not answer["scores"][bad].any()
    _, logits = told(model, ["the cat"], image=pixels("png"))
    np.testing.assert_allclose(
        answer["scores"][0], tf.nn.softmax(logits)[0], atol=1e-5
    )


@pytest.mark.slow
def test_boxes_outside_the_image_and_no_region_are_flagged(rng, tmp_path):
    model = vilbert("vqa", image=False)
    task = VisionLanguage(model, tokenizer=TOKENIZER)
    served.save(task, tmp_path, "answer", "attention")
    features = rng.normal(size=(5, 3, FEATURES)).astype("float32")
    boxes = np.tile(BOXES, (5, 1, 1))
    boxes[1, 0, 2] = 1.5
    boxes[2] = 0
    features[3, 1, 0] = np.nan
    request = {
        "text": texts.as_bytes(["the cat"] * 5),
        "features": features,
        "boxes": boxes,
    }
    answer, seen = served.ask(
        tmp_path, [("answer", request), ("attention", request)]
    )
    assert answer["valid"].tolist() == [True, False, False, False, True]
    assert answer["answer"][1:4].tolist() == [-1] * 3
    good = [0, 4]
    _, logits = told(
        model, ["the cat"] * 2, features=features[good], boxes=boxes[good]
    )
    np.testing.assert_allclose(
        answer["scores"][good], tf.nn.softmax(logits), atol=1e-5
    )
    assert seen["text_to_regions"].shape == (5, 4, 3)
    assert seen["regions_to_text"].shape == (5, 3, 4)
    assert not seen["text_to_regions"][good][..., 2].any()  # padding
    assert np.isfinite(answer["scores"]).all()


VERBS = {
    "vqa": ["answer", "attention"],
    "alignment": ["align", "attention"],
    "pretraining": ["align", "attention"],
    "retrieval": ["rank", "attention"],
    "referring": ["refer", "attention"],
    "masked_lm": ["attention"],
    None: ["attention"],
}


@pytest.mark.parametrize("head", VERBS)
def test_each_head_has_its_verbs(head, rng):
    model = vilbert(head, image=False)
    task = registry.for_model(model, tokenizer=TOKENIZER)
    assert type(task) is VisionLanguage
    signatures = task.signatures()
    assert [each.name for each in signatures] == VERBS[head]
    features = rng.normal(size=(1, 3, FEATURES)).astype("float32")
    seen = {"features": tf.constant(features), "boxes": BOXES[None]}
    answer = signatures[0].function(text=tf.constant(["the cat"]), **seen)
    _, outputs = told(model, ["the cat"], **seen)
    if head in ("alignment", "pretraining"):
        logits = outputs if head == "alignment" else outputs["alignment"]
        expected = {"alignment": tf.nn.softmax(logits)[:, 1]}
    elif head == "retrieval":
        expected = {"score": outputs[:, 0]}
    elif head == "referring":
        # The last region is padding, to which no text refers.
        scores = np.array(tf.sigmoid(outputs)[..., 0]) * [1, 1, 0]
        expected = {"scores": scores, "region": scores.argmax(-1)}
    else:
        expected = {}
    for name, value in expected.items():
        np.testing.assert_allclose(answer[name], value, atol=1e-5)
    assert answer["valid"].numpy().all()


@pytest.mark.parametrize(
    "image", [pytest.param(True, marks=pytest.mark.slow), False]
)
def test_xla_signatures_say_the_same(image, rng):
    task = VisionLanguage(
        vilbert("vqa", image=image), tokenizer=TOKENIZER, xla=True
    )
    signatures = {each.name: each for each in task.signatures()}
    names = ["answer", "answer_xla", "attention", "attention_xla"]
    assert list(signatures) == names
    assert [each.compiled for each in signatures.values()] == [0, 1, 0, 1]
    request = {"text": tf.constant([*ASKED[:2], ""])}
    if image:
        request["image_bytes"] = tf.constant(files("png", b"no image", "wide"))
    else:
        shape = (3, 3, FEATURES)
        features = rng.normal(size=shape).astype("float32")
        features[1, 0, 0] = np.nan
        request["features"] = tf.constant(features)
        request["boxes"] = tf.constant(np.tile(BOXES, (3, 1, 1)))
    plain, compiled = (
        signatures[name].function(**request) for name in names[:2]
    )
    assert plain.keys() == compiled.keys()
    assert compiled["valid"].numpy().tolist() == [True, False, False]
    for name, value in plain.items():
        np.testing.assert_allclose(compiled[name], value, atol=1e-5)
    plain, compiled = (
        signatures[name].function(**request) for name in names[2:]
    )
    length = plain["text_to_regions"].shape[1]
    assert compiled["text_to_regions"].shape[1] == texts.MAX_LENGTH
    np.testing.assert_allclose(
        compiled["text_to_regions"][:, :length],
        plain["text_to_regions"],
        atol=1e-5,
    )
    # What is padding is not looked at.
    found = compiled["regions_to_text"]
    np.testing.assert_allclose(
        found[..., :length], plain["regions_to_text"], atol=1e-5
    )
    assert not found[..., length:].numpy().any()


@pytest.mark.parametrize(
    ("head", "settings", "message"),
    [
        ("vqa", {}, "tokenizer that it was trained with"),
        ("vqa", {"labels": ["no"]}, "3 classes"),
        ("alignment", {"labels": ["no"]}, "no answers to name"),
        ("vqa", {"max_length": 99}, "`max_length` is beyond"),
    ],
)
def test_settings_that_do_not_fit_are_refused(head, settings, message):
    tokenizer = {"tokenizer": TOKENIZER} if settings else {}
    with pytest.raises(ValueError, match=message):
        VisionLanguage(vilbert(head, image=True), **tokenizer, **settings)


def test_another_id_of_padding_is_refused():
    model = ViLBERT(
        TOKENIZER.vocabulary_size, **SIZES, region_features=2, pad_id=3
    )
    with pytest.raises(ValueError, match="agree on the id of padding"):
        VisionLanguage(model, tokenizer=TOKENIZER)
    with pytest.raises(ValueError, match="serves a `ViLBERT`"):
        VisionLanguage(texts.bert(), tokenizer=TOKENIZER)
