import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export import servable
from keras_attn.export.tasks.mask_filling import MaskFilling
from keras_attn.text import WordPieceTokenizer
from keras_attn.text.layouts import join_pair
from keras_attn.text.special_tokens import DEFAULT
from tests.export import served
from tests.export import texts

CANDIDATES, HOLES = 3, 2
BATCHES = [
    [],
    ["the [MASK] sat"],
    ["the  cat", "[MASK], [MASK] é!", "[MASK]"],
    [
        *("a [MASK]", "é[MASK]", "[MASK] on", "zebra", "[MASK][MASK][MASK]"),
        *("the [MASK] cats", "[mask]", "the the the the the the [MASK]"),
    ],
]
BAD = [b"\xff [MASK]", b"", b"[MASK]" + b" a" * 7 + b" [MASK] b", b"a [MASK]"]


@pytest.fixture(scope="module")
def model():
    return texts.bert("masked_lm")


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    task = MaskFilling(
        model,
        tokenizer=texts.tokenizer(),
        num_candidates=CANDIDATES,
        max_holes=HOLES,
    )
    folder = tmp_path_factory.mktemp("filling")
    return served.save(task, folder, "fill")


@pytest.fixture(scope="module")
def answers(folder):
    return served.ask(
        folder,
        [("fill", {"text": texts.as_bytes(rows)}) for rows in [*BATCHES, BAD]],
    )


def expect(model, text):
    """Fill one text the slow way: mask ids, whole logits, sort."""
    tokenizer = texts.tokenizer()
    # A word that the tokenizer knows holds the place of each hole.
    marked = join_pair(tokenizer, tokenizer([text.replace("[MASK]", " mat ")]))
    mat = tokenizer.id_of("mat")
    tokens = marked["tokens"].numpy()
    holes = np.flatnonzero(tokens[0] == mat)
    tokens[0, holes] = tokenizer.mask_id
    logits = model({"tokens": tokens, "segments": np.zeros_like(tokens)})
    logits = logits["masked_lm"] if isinstance(logits, dict) else logits
    candidates, scores = [], []
    for probabilities in tf.nn.softmax(logits[0]).numpy()[holes]:
        order = [i for i in np.argsort(-probabilities) if i >= len(DEFAULT)]
        candidates.append(order[:CANDIDATES])
        scores.append(probabilities[order[:CANDIDATES]])
    for ids in candidates:
        word = tokenizer.vocabulary[ids[0]]
        piece = word.removeprefix("##")
        hole = "[MASK]" if piece == word else " [MASK]"
        hole = hole if hole in text.partition("[MASK]")[0] + "[MASK]" else ""
        text = text.replace(hole or "[MASK]", piece, 1)
    tokens = [[tokenizer.vocabulary[id] for id in ids] for ids in candidates]
    return text, tokens, scores


def test_the_server_fills_like_python(model, answers):
    assert answers[0]["tokens"].shape == (0, HOLES, CANDIDATES)
    for rows, answer in zip(BATCHES[1:], answers[1:-1], strict=True):
        assert answer["valid"].all() and not answer["truncated"].any()
        for number, row in enumerate(rows):
            text, tokens, scores = expect(model, row)
            assert answer["text"][number].decode() == text
            assert answer["holes"][number] == len(tokens)
            listed = min(len(tokens), HOLES)
            given = answer["tokens"][number].tolist()
            assert given[:listed] == [
                [token.encode() for token in hole] for hole in tokens[:listed]
            ]
            assert given[listed:] == [[b""] * CANDIDATES] * (HOLES - listed)
            padded = np.zeros((HOLES, CANDIDATES))
            padded[:listed] = np.reshape(scores[:listed], (-1, CANDIDATES))
            np.testing.assert_allclose(
                answer["scores"][number], padded, atol=1e-5
            )


def test_bad_rows_are_flagged_and_leave_the_others_alone(answers):
    bad, alone = answers[-1], answers[3]
    assert bad["valid"].tolist() == [False, False, True, True]
    assert bad["truncated"].tolist() == [False, False, True, False]
    assert bad["text"][:2].tolist() == [b"", b""]
    assert bad["text"][3] == alone["text"][0]
    assert bad["text"][2].endswith(b" a a a a [MASK] b")
    assert not bad["text"][2].startswith(b"[MASK]")
    assert bad["holes"].tolist() == [0, 0, 2, 1]
    assert not bad["scores"][2, 1].any()


def test_a_model_in_pretraining_fills_too():
    model = texts.bert("pretraining")
    task = MaskFilling(model, tokenizer=texts.tokenizer())
    answer = task.signatures()[0].function(text=tf.constant(["the [MASK] sat"]))
    text, tokens, _ = expect(model, "the [MASK] sat")
    assert answer["text"].numpy()[0].decode() == text
    best = answer["tokens"].numpy()[0, 0, :CANDIDATES].tolist()
    assert best == [token.encode() for token in tokens[0]]


def test_only_core_ops_are_used(folder):
    assert not served.other_ops(folder)


def test_examples_have_holes(model):
    task = MaskFilling(model, tokenizer=texts.tokenizer())
    fill, embed = task.signatures()
    assert (fill.name, embed.name) == ("fill", "embed")
    for example in fill.examples:
        answer = fill.function(text=tf.constant(example["text"]))
        holes, valid = answer["holes"].numpy(), answer["valid"].numpy()
        assert (holes == valid).all()


def test_no_more_candidates_are_given_than_there_are(model):
    task = MaskFilling(model, tokenizer=texts.tokenizer(), num_candidates=99)
    answer = task.signatures()[0].function(text=tf.constant(["[MASK]"]))
    assert answer["tokens"].shape == (1, 7, len(texts.PIECES))
    assert answer["scores"].numpy()[0, 0].min() > 0


def test_ids_that_no_token_has_fill_no_hole():
    size = texts.tokenizer().vocabulary_size + 20
    model = texts.bert("masked_lm", vocabulary_size=size)
    task = MaskFilling(model, tokenizer=texts.tokenizer(), num_candidates=99)
    answer = task.signatures()[0].function(text=tf.constant(["a [MASK]"]))
    found = sorted(token.decode() for token in answer["tokens"].numpy()[0, 0])
    assert found == sorted(texts.PIECES)


@pytest.mark.parametrize("name", ["num_candidates", "max_holes"])
def test_numbers_start_at_one(name, model):
    with pytest.raises(ValueError, match=f"{name}=0"):
        MaskFilling(model, tokenizer=texts.tokenizer(), **{name: 0})


def test_a_tokenizer_without_mask_is_refused(model):
    vocabulary = [token for token in DEFAULT if token != "[MASK]"]
    tokenizer = WordPieceTokenizer([*vocabulary, *texts.PIECES, "b"])
    with pytest.raises(ValueError, match="no MASK token"):
        MaskFilling(model, tokenizer=tokenizer)


def test_ids_that_the_tokenizer_does_not_have_fill_no_hole():
    model = texts.bert("masked_lm", vocabulary_size=21)
    bias = model.get_layer("masked_lm_bias")
    # The likeliest of all.
    bias.set_weights([np.where(np.arange(21) >= 16, 50.0, 0.0)])
    made = servable(model, tokenizer=texts.tokenizer(), num_candidates=30)
    answer = made.fill(["the [MASK] sat"])
    tokens = answer["tokens"][0, 0]
    assert b"" not in tokens and len(set(tokens.tolist())) == len(tokens)
    assert set(tokens.astype(str)) < set(texts.tokenizer().vocabulary)
