import types

import numpy as np
import pytest

from examples import bottleneck
from keras_attn import data

TINY = bottleneck.Config(
    seeds=1,
    steps=3,
    num_examples=48,
    num_held_out=5,
    learned_clauses=1,
    most_clauses=2,
    units=8,
    batch_size=16,
)


@pytest.fixture(scope="module")
def phrases():
    return data.phrases(num_examples=48, clauses=2)


@pytest.fixture(scope="module")
def words(phrases):
    return bottleneck.learn_words(phrases)


@pytest.mark.slow
def test_all_are_scored_and_drawn(tmp_path, capsys):
    config = bottleneck.Config(**vars(TINY) | {"folder": str(tmp_path)})
    scores, points = bottleneck.main(config)
    assert list(scores) == config.models.split(",")
    for each in scores.values():
        assert each.shape == (1, 2)
        assert ((each >= 0) & (each <= 1)).all()
    assert points.shape == (1, 2)
    printed = capsys.readouterr().out
    table = printed[printed.index("Correct words in %") :].splitlines()
    names = [line[:14].strip() for line in table[2:9]]
    assert names == [*scores, "pointing"]
    assert (tmp_path / "bottleneck.png").stat().st_size > 1_000


@pytest.mark.slow
def test_attention_leads_where_one_state_must_hold_it_all(tmp_path):
    config = bottleneck.Config(
        seeds=1,
        steps=450,
        num_examples=4_000,
        num_held_out=30,
        learned_clauses=1,
        most_clauses=2,
        units=64,
        batch_size=32,
        learning_rate=5e-3,
        hidden_words=0.1,
        models="attention,no attention",
        folder=str(tmp_path),
    )
    scores, points = bottleneck.main(config)
    learned, longest = scores["attention"][0] - scores["no attention"][0]
    assert learned > 0.5 and longest > 0.1
    assert scores["attention"][0, 0] > 0.85
    assert points[0, 0] > 0.8


def test_rows_are_what_is_read_fed_and_wanted(phrases, words):
    inputs, labels, alignments = words.rows(phrases)
    row = next(phrases.as_numpy_iterator())
    source = row["source"].decode().split()
    target = row["target"].decode().split()
    read = [words.source.vocabulary[i] for i in inputs["source"][0]]
    fed = [words.target.vocabulary[i] for i in inputs["target"][0]]
    wanted = [words.target.vocabulary[i] for i in labels[0]]
    assert read[: len(source) + 1] == [*source, "[END]"]
    assert fed[: len(target) + 1] == ["[START]", *target]
    assert wanted[: len(target) + 1] == [*target, "[END]"]
    assert set(wanted[len(target) + 1 :]) <= {"[PAD]"}
    np.testing.assert_array_equal(alignments[0], row["alignment"])


def test_a_word_is_correct_at_its_place_only(phrases, words):
    _, labels, _ = words.rows(phrases)
    assert bottleneck.correct_words(labels, labels, words) == 1
    shifted = np.roll(labels, 1, axis=1)
    assert bottleneck.correct_words(shifted, labels, words) < 0.1
    # What is written after the end does not count.
    longer = np.where(labels == 0, 7, labels)
    assert bottleneck.correct_words(longer, labels, words) == 1


def test_pointing_is_measured_by_the_true_alignment(phrases, words):
    inputs, labels, alignments = words.rows(phrases)
    rows, length = labels.shape
    weights = np.zeros((rows, length, length))
    true = alignments[:, :length, :length]
    weights[:, : true.shape[1], : true.shape[2]] = true
    for given, expected in ((weights, 1.0), (1 - weights, 0.0)):
        model = types.SimpleNamespace(alignment=lambda *_, x=given: x)
        found = bottleneck.pointing(model, inputs, labels, alignments, words)
        assert found == expected


def test_words_that_are_fed_are_hidden_and_no_others(phrases, words):
    hiding = bottleneck.Config(**vars(TINY) | {"hidden_words": 0.5})
    inputs, labels = next(
        iter(bottleneck.make_batches(hiding, words, phrases, seed=1))
    )
    fed, wanted = inputs["target"].numpy(), labels.numpy()
    whole = np.concatenate(
        [np.full((len(fed), 1), words.target.start_id), wanted[:, :-1]], axis=1
    )
    whole[whole == words.target.end_id] = 0
    hidden = fed != whole
    assert set(fed[hidden]) == {words.target.unknown_id}
    assert not np.any(whole[hidden] == words.target.start_id)
    assert 0.3 < hidden[whole > words.target.start_id].mean() < 0.7
    assert not np.any(inputs["source"] == words.source.unknown_id)
