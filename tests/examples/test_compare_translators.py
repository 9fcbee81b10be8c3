import gzip
import types

import numpy as np
import pytest
import tensorflow as tf

from examples import compare_translators
from keras_attn import data


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


@pytest.mark.slow
def test_attention_leads_and_each_model_has_its_row(tmp_path, capsys):
    path = tmp_path / "pairs.txt.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for row in data.phrases(num_examples=3_000).as_numpy_iterator():
            cells = [row[side].decode() for side in ("source", "target")]
            file.write("\t".join(cells) + "\n")
    config = compare_translators.Config(
        pairs=str(path), vocabulary_size=400, units=48, steps=300, width=2
    )
    scores = compare_translators.main(config)
    assert scores["attention"] > scores["no attention"] + 10
    assert "| transformer |" in capsys.readouterr().out
