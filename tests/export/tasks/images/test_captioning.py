import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import decoding
from keras_attn.export import servable
from keras_attn.export.graph.signature import text_column
from keras_attn.export.loader import loaded_model
from keras_attn.export.tasks import registry
from keras_attn.export.tasks.images.captioning import Captioning
from keras_attn.image.preprocessing import Preprocessing
from keras_attn.text import WordTokenizer
from keras_attn.text.special_tokens import DEFAULT
from tests.export import captioners
from tests.export import served
from tests.export import writers
from tests.export.image_files import BAD
from tests.export.image_files import GOOD
from tests.export.image_files import MAX_PIXELS
from tests.export.writers import TARGET

FILES = [*GOOD.values(), *BAD.values()]
GOOD_ROWS = np.arange(len(FILES)) < len(GOOD)
LENGTH = 7


@pytest.fixture(scope="module")
def exported(export_task):
    """A captioner, saved with all that it can be asked."""
    return export_task(
        captioners.captioner(),
        tokenizer=TARGET,
        max_length=LENGTH,
        max_pixels=MAX_PIXELS,
        forbidden_ids=captioners.SPECIAL,
    )


@pytest.fixture(scope="module")
def expected(exported):
    """What Python writes, and the log-probabilities of it."""
    tokens, log_probs = decoding.generate(
        exported.model,
        {"image": captioners.decoded(GOOD.values())},
        max_length=LENGTH,
        start_id=TARGET.start_id,
        end_id=TARGET.end_id,
        forbidden_ids=captioners.SPECIAL,
        return_log_probs=True,
    )
    text = np.full(len(FILES), b"", object)
    text[: len(GOOD)] = TARGET.detokenize(tokens).numpy()
    score = np.zeros(len(FILES))
    score[: len(GOOD)] = np.sum(log_probs, axis=1)
    return {"text": text, "score": score, "tokens": tokens.numpy()}


def test_the_server_captions_like_python(exported, expected):
    assert len(set(expected["text"])) > 3, "captions tell nothing if all alike"
    batches = [[], [0], [2, 1], range(len(FILES)), [len(GOOD)]]
    answers = served.ask(
        exported.folder,
        [
            ("caption", {"image_bytes": text_column(*[FILES[i] for i in rows])})
            for rows in batches
        ],
    )
    for rows, answer in zip(batches, answers, strict=True):
        rows = list(rows)
        assert answer.keys() == {"text", "score", "valid"}
        assert answer["valid"].tolist() == GOOD_ROWS[rows].tolist()
        assert answer["text"].tolist() == expected["text"][rows].tolist()
        np.testing.assert_allclose(
            answer["score"], expected["score"][rows], 1e-4, 1e-5
        )


def test_only_core_ops_are_used(exported):
    assert not served.other_ops(exported.folder)


def test_the_encoder_is_in_the_file_once(exported):
    graph = loaded_model.read_graph(exported.folder).graph_def
    nodes = [*graph.node]
    for function in graph.library.function:
        nodes.extend(function.node_def)
    assert [node.op for node in nodes].count("Conv2D") == 1


def test_each_word_tells_which_cells_it_attended_to(exported, expected):
    files = [GOOD["png"], b"", GOOD["wide"]]
    answer = exported.ask("attention", image_bytes=files)
    rows, columns = captioners.GRID
    assert answer["weights"].shape == (3, LENGTH, rows, columns)
    assert answer["valid"].tolist() == [True, False, True]
    model = exported.model
    for row, name in ((0, "png"), (2, "wide")):
        number = list(GOOD).index(name)
        length = answer["answer_lengths"][row]
        words = answer["answer_tokens"][row]
        assert answer["text"][row] == expected["text"][number]
        written = [word for word in words[:length] if word != b"[END]"]
        assert b" ".join(written) == answer["text"][row]
        fed = np.append(TARGET.start_id, expected["tokens"][number])[None, :-1]
        weights = model.alignment(
            {"image": captioners.decoded([GOOD[name]])}, fed
        )[0]
        np.testing.assert_allclose(
            answer["weights"][row][:length], weights[:length], atol=1e-5
        )
        assert not answer["weights"][row][length:].any()
    assert not answer["weights"][1].any() and not answer["answer_lengths"][1]


def test_a_given_caption_is_scored_with_its_end(exported):
    answer = exported.ask(
        "score",
        image_bytes=[GOOD["png"], GOOD["gif"], BAD["no_image"], GOOD["png"]],
        answer=[b"s t", b"", b"s", b"s t u v w x y z"],
    )
    assert answer["valid"].tolist() == [True, True, False, True]
    assert answer["truncated"].tolist() == [False, False, False, True]
    image = captioners.decoded([GOOD["png"]])
    ids = TARGET.to_dense(tf.constant("s t"), 4)[None]  # START s t END
    logits = exported.model({"image": image, "target": ids[:, :-1]})
    chosen = tf.gather(tf.nn.log_softmax(logits), ids[:, 1:], batch_dims=2)
    np.testing.assert_allclose(
        answer["log_probability"][0], np.sum(chosen), rtol=1e-5
    )


def test_each_row_may_have_its_own_options(exported, expected):
    number = int(np.argmax([len(text) for text in expected["text"]]))
    answer = exported.ask(
        "caption_with_options",
        image_bytes=[FILES[number]] * 3,
        max_length=np.array([LENGTH, 1, LENGTH + 1], "int32"),
        temperature=np.zeros(3, "float32"),
        seed=np.arange(3),
    )
    assert answer["valid"].tolist() == [True, True, False]
    whole = expected["text"][number]
    assert answer["text"].tolist() == [whole, whole.split()[0], b""]


# From here on: without an export.


def test_pixels_are_those_that_the_model_was_trained_on():
    model = captioners.captioner()
    options = {"fit": "squeeze", "value_range": (-1, 1)}
    task = Captioning(model, tokenizer=TARGET, **options)
    (image,), valid, _ = task.read(tf.constant([GOOD["wide"], b""]))
    wanted = captioners.decoded([GOOD["wide"]], fit="squeeze")
    np.testing.assert_allclose(image[:1], 2 * wanted - 1, atol=1e-6)
    assert valid.numpy().tolist() == [True, False]
    inputs, start = task.prepare(image)
    assert start.numpy().tolist() == [TARGET.start_id] * 2
    np.testing.assert_allclose(inputs["memory"], model.memory(image))


def test_a_published_model_has_its_own_pixels_and_start():
    model = captioners.captioner()
    wanted = Preprocessing((5, 7), crop=(4, 6), mean=(0.5,), std=(0.5,))
    task = Captioning(
        model, tokenizer=WITHOUT_START, start_id=5, preprocessing=wanted
    )
    (image,), _, _ = task.read(tf.constant([GOOD["wide"]]))
    np.testing.assert_array_equal(image[0], wanted(GOOD["wide"]))
    assert task.prepare(image)[1].numpy().tolist() == [5]


def test_a_captioner_is_found_by_its_methods_and_its_input():
    model = captioners.captioner()
    task = registry.for_model(model, tokenizer=TARGET)
    assert isinstance(task, Captioning) and task.search.max_length == 64
    names = [signature.name for signature in task.signatures()]
    assert names == ["caption", "caption_with_options", "score", "attention"]
    for other in (writers.transformer(), writers.gpt()):
        assert not Captioning.accepts(other)
    image = keras.Input((None, 6, 3), name="image")
    model = keras.Model(image, keras.layers.GlobalAveragePooling2D()(image))
    model.encode = model.step = print
    assert not Captioning.accepts(model)
    with pytest.raises(ValueError, match="whose sizes are known"):
        Captioning(model, tokenizer=TARGET)


def test_a_model_without_attention_has_no_verb_for_it():
    model = captioners.captioner()
    model.alignment = None
    names = [x.name for x in Captioning(model, tokenizer=TARGET).signatures()]
    assert "attention" not in names


# A caption starts after START: a vocabulary without it begins no caption.
WITHOUT_START = WordTokenizer(
    [*DEFAULT, *"stuvwxyz", "q"], special_tokens={"start": None}
)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"tokenizer": None}, "exported with the tokenizer"),
        ({"tokenizer": writers.LARGER}, "knows 14 ids in its target"),
        ({"tokenizer": WITHOUT_START}, "no start token"),
        ({"start_id": 14}, "one of the 14 ids of the target. Received: start"),
        ({"start_id": -1}, "start_id"),
        ({"max_length": 0}, "max_length"),
        ({"value_range": (1, 0)}, "value_range"),
        ({"fit": "stretch"}, "`fit` must be one of"),
        ({"labels": ["a"]}, "Received: labels"),
    ],
)
def test_what_does_not_fit_the_model_is_refused(settings, complaint):
    settings = {"tokenizer": TARGET, **settings}
    with pytest.raises(ValueError, match=complaint):
        Captioning(captioners.captioner(), **settings)


def test_people_may_give_files_paths_or_pixels(tmp_path):
    made = servable(captioners.captioner(), tokenizer=TARGET, max_length=LENGTH)
    path = tmp_path / "image.png"
    path.write_bytes(GOOD["png"])
    pixels = tf.io.decode_png(GOOD["png"]).numpy()
    answer = made.caption([GOOD["png"], path, pixels])
    assert len(set(answer["text"])) == 1 and answer["valid"].all()
    assert made.caption(np.stack([pixels, pixels]))["text"].shape == (2,)
