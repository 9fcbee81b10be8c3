import gzip
import types

import numpy as np
import pytest
import tensorflow as tf

from examples import compare_translators


@pytest.fixture
def pairs():
    return tf.data.Dataset.from_tensor_slices(
        {
            "source": [f"number {n // 2}" for n in range(400)],
            "target": [f"nombre {n // 2} {n % 2}" for n in range(400)],
        }
    )


def test_a_sentence_is_in_one_split_with_all_of_its_translations(pairs):
    learned, held_out = compare_translators.split(pairs)
    sides = [
        [pair["source"] for pair in part.as_numpy_iterator()]
        for part in (learned, held_out)
    ]
    assert sides[0] and sides[1]
    assert sum(map(len, sides)) == 400
    assert not set(sides[0]) & set(sides[1])
    found = compare_translators.references(held_out, 2)
    assert [len(targets) for targets in found.values()] == [2, 2]


@pytest.mark.parametrize("second, best", [("y", True), ("x", False)])
def test_any_of_the_translations_is_right(second, best):
    answers = {"text": np.array(["le chat dort ici", second])}
    translator = types.SimpleNamespace(translate=lambda *_, verbose: answers)
    sentences = {"a": ["un chat dort ici", "le chat dort ici"], "b": ["y"]}
    found = compare_translators.bleu(translator, sentences)
    assert (found == pytest.approx(100)) == best


def test_a_file_too_short_to_hold_out_from_is_refused(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("go\tva\n", encoding="utf-8")
    config = compare_translators.Config(pairs=str(path))
    with pytest.raises(ValueError, match="longer file"):
        compare_translators.main(config)


@pytest.mark.slow
def test_each_model_learns_from_a_file_and_has_its_row(tmp_path, capsys):
    path = tmp_path / "pairs.txt.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for n in range(320):
            file.write(f"a b c {n} d\tu v w {n} x\n")
    config = compare_translators.Config(
        pairs=str(path),
        vocabulary_size=300,
        length=12,
        units=32,
        dropout=0.0,
        models="no attention,transformer",
        batch_size=16,
        steps=150,
        learning_rate=1e-2,
        width=1,
    )
    scores = compare_translators.main(config)
    # The words that all sentences have, at least.
    assert min(scores.values()) > 10
    rows = capsys.readouterr().out.splitlines()[-len(scores) :]
    assert [row.split(" | ")[0][2:] for row in rows] == list(scores)
