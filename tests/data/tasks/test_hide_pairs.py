import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.tasks.hide_pairs import hide_pairs
from keras_attn.text.word import WordTokenizer

WORDS = ["[PAD]", "[START]", "[END]", "[MASK]", "[UNK]"]
TOKENIZER = WordTokenizer([*WORDS, *"abcdefgh"])
ROWS, REGIONS, CLASSES = 200, 6, 4


def batch(rng, *, image):
    """Every region and every text is its own."""
    tokens = rng.integers(5, 13, size=(ROWS, 9))
    tokens[:, 0], tokens[:, -2], tokens[:, -1] = 1, 2, 0
    inputs = {"tokens": tokens, "segments": np.zeros_like(tokens)}
    regions = rng.uniform(0.1, 1, size=(ROWS, REGIONS, 2))
    if image:
        # (batch, 2 · 1, 3 · 2, 1): patches of one pixel by two.
        pixels = regions.reshape(ROWS, 2, 3, 1, 2).swapaxes(2, 3)
        inputs["image"] = pixels.reshape(ROWS, 2, 6, 1)
    else:
        inputs["features"] = regions
        boxes = np.tile([0.0, 0.0, 1.0, 1.0], (ROWS, REGIONS, 1))
        boxes[:, -1] = 0  # padding
        inputs["boxes"] = boxes
    labels = {
        "masked_lm": tokens,
        "masked_regions": rng.dirichlet(np.ones(CLASSES), (ROWS, REGIONS)),
        "alignment": np.ones(ROWS, "int32"),
    }
    given = tf.nest.map_structure(
        lambda x: x.astype("float32" if "float" in x.dtype.name else "int32"),
        (inputs, labels),
    )
    return given, tf.data.Dataset.from_tensors(given)


def features_of(inputs):
    """(rows, regions, 2) of images or of features."""
    if "features" in inputs:
        return inputs["features"].numpy()
    pixels = inputs["image"].numpy().reshape(ROWS, 2, 1, 3, 2)
    return pixels.reshape(ROWS, REGIONS, 2)


@pytest.mark.parametrize("image", [True, False])
def test_what_is_hidden_is_what_is_asked(image, rng):
    (before, told), dataset = batch(rng, image=image)
    size = {"patch_size": (1, 2)} if image else {}
    ((inputs, labels),) = hide_pairs(dataset, TOKENIZER, rate=0.4, **size)
    alone = {k: tf.constant(v) for k, v in before.items()}
    old, new = features_of(alone), features_of(inputs)
    asked = labels["masked_regions"].numpy().any(-1)
    together = labels["alignment"].numpy() == 1
    real = REGIONS if image else REGIONS - 1
    assert (asked[together].sum(axis=1) == round(0.4 * real)).all()
    if not image:
        assert not asked[:, -1].any()
    np.testing.assert_array_equal(
        labels["masked_regions"].numpy()[asked],
        told["masked_regions"][asked],
    )
    # Nine of ten that are asked for are gone, and nothing else is.
    gone = (new == 0).all(-1)
    np.testing.assert_array_equal(new[~gone], old[~gone])
    assert not (gone & ~asked)[together].any()
    assert 0.8 < gone[asked].mean() < 0.97
    # Words: those that are asked for, in rows that belong together.
    words = labels["masked_lm"].numpy()
    same = inputs["tokens"].numpy() == before["tokens"]
    assert (same | (words != 0))[together].all()
    assert (words[together] != 0).sum(axis=1).tolist() == [2] * together.sum()


def test_half_of_the_rows_get_the_text_of_the_next(rng):
    (before, _), dataset = batch(rng, image=False)
    ((inputs, labels),) = hide_pairs(dataset, TOKENIZER, rate=0.15)
    apart = labels["alignment"].numpy() == 0
    assert 0.35 < apart.mean() < 0.65
    others = np.roll(before["tokens"], -1, axis=0)
    same = (inputs["tokens"].numpy() == others)[apart]
    # Of six ordinary words one is hidden, and not always changed.
    assert (same.sum(axis=1) >= 8).all()
    assert not labels["masked_lm"].numpy()[apart].any()
    assert not labels["masked_regions"].numpy()[apart].any()


def test_what_is_hidden_does_not_tell_which_pairs_belong_together(rng):
    (_, _), dataset = batch(rng, image=False)
    ((inputs, labels),) = hide_pairs(dataset, TOKENIZER, rate=0.4)
    apart = labels["alignment"].numpy() == 0
    hidden = {
        "words": (inputs["tokens"].numpy() == TOKENIZER.mask_id).mean(axis=1),
        "regions": (features_of(inputs) == 0).all(-1).mean(axis=1),
    }
    for share in hidden.values():
        assert share.mean() > 0.1
        assert share[apart].mean() == pytest.approx(
            share[~apart].mean(), rel=0.15
        )


def test_the_same_words_fit_two_images(rng):
    (before, told), _ = batch(rng, image=False)
    alike = {**before, "tokens": np.tile(before["tokens"][:1], (ROWS, 1))}
    dataset = tf.data.Dataset.from_tensors((alike, told))
    ((_, labels),) = hide_pairs(dataset, TOKENIZER)
    assert (labels["alignment"].numpy() == 1).all()


def test_every_epoch_hides_others_and_a_seed_fixes_them(rng):
    _, dataset = batch(rng, image=False)

    def tokens(seed):
        hidden = hide_pairs(dataset, TOKENIZER, seed=seed).repeat(2)
        return [inputs["tokens"].numpy().tolist() for inputs, _ in hidden]

    first, second = tokens(1)
    assert first != second
    assert tokens(1) == [first, second]
    assert tokens(2)[0] != first


def test_shapes_stay_known(rng):
    _, dataset = batch(rng, image=True)
    hidden = hide_pairs(dataset, TOKENIZER, patch_size=(1, 2))
    for one, two in zip(
        tf.nest.flatten(hidden.element_spec),
        tf.nest.flatten(dataset.element_spec),
        strict=True,
    ):
        assert one.is_compatible_with(two)
        assert one.shape.is_fully_defined()


@pytest.mark.parametrize(
    ("image", "options", "message"),
    [
        (True, {}, "`patch_size` goes with images"),
        (False, {"patch_size": 2}, "`patch_size` goes with images"),
        (True, {"patch_size": 2}, "as many patches as there are"),
        (False, {"rate": 0.0}, "`rate` must be"),
        (False, {"mismatched": 1.0}, "`mismatched` must be"),
    ],
)
def test_what_does_not_fit_is_refused(image, options, message, rng):
    _, dataset = batch(rng, image=image)
    with pytest.raises(ValueError, match=message):
        hide_pairs(dataset, TOKENIZER, **options)
