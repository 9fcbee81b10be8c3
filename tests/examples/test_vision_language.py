import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from examples import vision_language
from keras_attn import data

CONFIG = vision_language.Config(
    num_scenes=64,
    num_questions=32,
    num_held_out=20,
    num_layers=1,
    num_heads=2,
    units=8,
    hidden_dim=12,
    batch_size=16,
    pretraining_steps=3,
    fine_tuning_steps=2,
)


@pytest.mark.slow
def test_it_compares_with_a_model_that_was_not_pretrained(tmp_path, capsys):
    config = dataclasses.replace(CONFIG, num_seeds=1, folder=str(tmp_path))
    (row,) = vision_language.main(config)
    assert all(0 <= row[k] <= 1 for k in row if k != "minutes")
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith(f"| 0 | {row['pretrained']:.1%} | ")
    assert lines[3].startswith("| mean | ")
    assert any(line.startswith("what is ") for line in lines)
    for name in ("text_to_regions.png", "regions_to_text.png"):
        assert np.array(Image.open(tmp_path / name)).std() > 0
    assert (tmp_path / "answerer" / "1" / "saved_model.pb").is_file()


@pytest.mark.slow
def test_pretraining_changes_what_fine_tuning_starts_from():
    tokenizer = vision_language.learn_words()
    keras.utils.set_random_seed(0)
    untrained = vision_language.make_model(CONFIG, tokenizer)
    keras.utils.set_random_seed(0)
    trained = vision_language.pretrain(CONFIG, tokenizer, seed=0)
    # So small a rate changes nothing.
    config = dataclasses.replace(CONFIG, fine_tuning_rate=1e-12)
    tuned = vision_language.fine_tune(config, trained, tokenizer, seed=0)
    kernels = [
        [x for x in model.streams.get_weights() if x.ndim > 1]
        for model in (untrained, trained, tuned)
    ]
    for before, first, last in zip(*kernels, strict=True):
        np.testing.assert_allclose(first, last, atol=1e-9)
        assert np.max(np.abs(before - first)) > 1e-6


def test_a_row_tells_the_points_that_pretraining_gains(capsys):
    rows = [
        dict(pretrained=x, scratch=0.25, named=0.5, guessed=0.125, minutes=2)
        for x in (0.5, 0.375)
    ]
    vision_language.print_row("mean", vision_language.mean_of(rows))
    assert capsys.readouterr().out == (
        "| mean | 43.8% | 25.0% | +18.8 | 50.0% | 12.5% | 2.0 |\n"
    )


def test_regions_are_the_cells_that_hold_a_digit():
    for scene in data.digit_scenes("validation", num_scenes=20):
        regions = vision_language.find_regions(scene)
        image = scene["image"].numpy()[..., 0]
        cells = scene["cells"].numpy().reshape(4, 4)
        found = 0
        for feature, box, classes in zip(*regions.values(), strict=True):
            if not np.any(box):
                assert not np.any(feature) and not np.any(classes)
                continue
            left, top, right, bottom = (np.array(box) * 32).astype(int)
            crop = image[top:bottom, left:right].reshape(-1) / 255
            np.testing.assert_allclose(feature, crop, atol=1e-6)
            assert cells[top // 8, left // 8] == np.argmax(classes)
            found += 1
        assert found == (cells != 10).sum()


def test_the_last_number_word_is_hidden_and_asked_for():
    tokenizer = vision_language.learn_words()
    pairs = vision_language.captioned(CONFIG, tokenizer, "validation", 0)
    captions = [
        scene["caption"].decode()
        for scene in data.digit_scenes(
            "validation", num_scenes=CONFIG.num_held_out
        ).as_numpy_iterator()
    ]
    last = [caption.split()[-1] for caption in captions]
    one = last[0]
    id_of_one = int(tokenizer(tf.constant([one])).to_list()[0][0])

    def says_one(inputs):
        tokens = tf.fill(tf.shape(inputs["tokens"]), id_of_one)
        return {"masked_lm": tf.one_hot(tokens, tokenizer.vocabulary_size)}

    def copies(inputs):
        tokens = inputs["tokens"]
        return {"masked_lm": tf.one_hot(tokens, tokenizer.vocabulary_size)}

    share = vision_language.named_digits(says_one, tokenizer, pairs)
    assert share == pytest.approx(np.mean(np.array(last) == one))
    assert vision_language.named_digits(copies, tokenizer, pairs) == 0


def test_another_picture_is_shown_if_asked_for():
    tokenizer = vision_language.learn_words()
    pairs = vision_language.captioned(CONFIG, tokenizer, "validation", 0)
    shown = []

    def watch(inputs):
        shown.append(inputs["features"].numpy())
        rows = inputs["tokens"].shape
        return {"masked_lm": tf.zeros([*rows, tokenizer.vocabulary_size])}

    for shift in (0, 1):
        vision_language.named_digits(watch, tokenizer, pairs, shift=shift)
    own, _, others, _ = shown  # two batches each
    np.testing.assert_array_equal(others, np.roll(own, 1, axis=0))


def test_weights_stand_in_the_cells_of_their_regions():
    boxes = np.array(
        [[0.5, 0.25, 0.75, 0.5], [0, 0.75, 0.25, 1], [0, 0, 0, 0]], "float32"
    )
    weights = np.array([[0.7, 0.2, 0.1], [0.4, 0.6, 0.0]])
    cells = vision_language.on_grid(weights, boxes)
    assert cells.shape == (2, 4, 4)
    np.testing.assert_allclose(cells[:, 1, 2], [0.7, 0.4])
    np.testing.assert_allclose(cells[:, 3, 0], [0.2, 0.6])
    assert cells[0, 0, 0] == 0  # what pads stands nowhere
