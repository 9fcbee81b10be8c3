import collections
import math
import sys

import keras
import pytest

from keras_attn.training import BLEU
from tests.training.callbacks.runs import run

REFERENCES = ["the cat sat on the mat today", "a dog ran over the old bridge"]
# What the model writes after each epoch.
TABLE = [
    ["mat", "bridge"],
    ["the cat sat on a mat today", "a dog ran over bridge"],
    REFERENCES,
    ["the cat sat on the mat", "a dog ran under the old bridge"],
]


def learner():
    """A `decode` that goes down the table, and down again."""
    calls = iter(TABLE * 2)
    return lambda sources: next(calls)


def bleu(written, references):
    """Papineni's equation, for words without a precision of 0."""
    precisions = []
    for n in range(1, 5):
        right = total = 0
        for text, reference in zip(written, references, strict=True):
            grams = [
                collections.Counter(
                    tuple(words[k : k + n]) for k in range(len(words) - n + 1)
                )
                for words in (text.split(), reference.split())
            ]
            right += (grams[0] & grams[1]).total()
            total += grams[0].total()
        precisions.append(right / total)
    lengths = [sum(len(x.split()) for x in xs) for xs in (written, references)]
    penalty = min(1, math.exp(1 - lengths[1] / lengths[0]))
    return 100 * penalty * math.prod(precisions) ** 0.25


def test_history_holds_the_score_of_each_epoch():
    scores = run(BLEU(learner(), [1, 2], REFERENCES), epochs=4)["bleu"]
    assert scores[0] < 5
    for place in (1, 2, 3):
        assert scores[place] == pytest.approx(bleu(TABLE[place], REFERENCES))
    assert scores[2] == pytest.approx(100)


def test_a_source_may_have_several_references():
    written = ["the cat sat on a mat today", "a dog ran over the old bridge"]
    references = [[REFERENCES[0], written[0]], REFERENCES[1]]
    for number, wanted in ((1, bleu(written, REFERENCES)), (2, 100)):
        callback = BLEU(
            lambda sources: written,
            ["x", "y"],
            [references[0][:number], references[1]],
        )
        assert run(callback)["bleu"][0] == pytest.approx(wanted)


def test_a_callback_after_it_stops_when_the_score_falls():
    scores = run(
        BLEU(learner(), [1, 2], REFERENCES, name="val_bleu"),
        keras.callbacks.EarlyStopping("val_bleu", mode="max", patience=1),
        epochs=8,
    )["val_bleu"]
    # The third is the best, and the fourth is worse.
    assert len(scores) == 4


def test_a_callback_after_it_keeps_the_best_model(tmp_path):
    pattern = str(tmp_path / "{epoch}_{bleu:.0f}.weights.h5")
    run(
        BLEU(learner(), [1, 2], REFERENCES),
        keras.callbacks.ModelCheckpoint(
            pattern,
            monitor="bleu",
            mode="max",
            save_best_only=True,
            save_weights_only=True,
        ),
        epochs=4,
    )
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert [name[0] for name in kept] == ["1", "2", "3"]
    assert kept[2] == "3_100.weights.h5"


def test_it_is_measured_in_every_kth_epoch():
    scores = run(BLEU(learner(), [1, 2], REFERENCES, every=2), epochs=5)
    assert len(scores["bleu"]) == 2 and len(scores["loss"]) == 5


def test_words_are_split_as_asked():
    scores = {}
    for tokenize in ("13a", "zh"):
        callback = BLEU(
            lambda sources: ["我们今天去公园"],
            ["we go to the park"],
            ["我们今天去学校"],
            tokenize=tokenize,
        )
        scores[tokenize] = run(callback)["bleu"][0]
    assert scores["13a"] < 1 < 50 < scores["zh"]


def test_it_prints_unless_told_not_to(capsys):
    for verbose in (1, 0):
        run(BLEU(learner(), [1, 2], TABLE[0], verbose=verbose))
        printed = capsys.readouterr().out
        assert ("Epoch 1: BLEU = " in printed) == bool(verbose)


@pytest.mark.parametrize(
    ("sources", "references"), [([], []), ([1, 2], ["a"]), ([1], ["a", "b"])]
)
def test_wrong_numbers_are_refused_before_the_training(sources, references):
    with pytest.raises(ValueError, match=r"`sources` must|`references` must"):
        BLEU(learner(), sources, references)


def test_another_number_of_texts_is_refused():
    callback = BLEU(lambda sources: ["a"], [1, 2], REFERENCES)
    with pytest.raises(ValueError, match="must return 2 strings"):
        run(callback)


def test_what_decode_raises_is_not_hidden():
    def decode(sources):
        raise ArithmeticError("of its own")

    with pytest.raises(ArithmeticError, match="of its own"):
        run(BLEU(decode, [1, 2], REFERENCES))


def test_without_sacrebleu_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ImportError, match=r"'sacrebleu'.*keras_attn\[bleu\]"):
        BLEU(learner(), [1, 2], REFERENCES)
