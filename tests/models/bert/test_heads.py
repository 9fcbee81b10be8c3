import inspect

import pytest

from keras_attn.models.bert import heads


def of_parts(name, **given):
    """What a head makes of parts that say their own names."""
    parts = {
        "sequence": "sequence",
        "pooled": "pooled",
        "dense": lambda size, name: lambda x: f"{name}[{size}]({x})",
        "drop": lambda x: f"drop({x})",
        "score_masked": lambda x: f"scores({x})",
        "score_positions": lambda name: lambda x: f"{name}({x})",
        "num_classes": 3,
    }
    return heads.HEADS[name].build(**{**parts, **given})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (None, {"sequence": "sequence", "pooled": "pooled"}),
        ("masked_lm", "scores(sequence)"),
        ("next_sentence", "next_sentence[2](pooled)"),
        (
            "pretraining",
            {
                "masked_lm": "scores(sequence)",
                "next_sentence": "next_sentence[2](pooled)",
            },
        ),
        ("classification", "classification[3](drop(pooled))"),
        ("regression", "regression[1](drop(pooled))"),
        ("token_classification", "token_classification[3](drop(sequence))"),
        (
            "span",
            {"start": "span_start(sequence)", "end": "span_end(sequence)"},
        ),
    ],
)
def test_each_head_is_the_layers_it_says(name, expected):
    assert of_parts(name) == expected
    assert heads.HEADS[name].pools == ("pooled" in str(expected))


def test_a_head_that_reads_classes_needs_their_number():
    for name, head in heads.HEADS.items():
        reads = "num_classes" in inspect.signature(head.build).parameters
        assert head.classifies == reads
        assert heads.get(name, 3 if reads else None) is head
        with pytest.raises(ValueError, match="`num_classes`"):
            heads.get(name, None if reads else 3)


def test_a_wrong_head_gets_the_right_ones():
    with pytest.raises(ValueError, match=r"None, 'masked_lm'.*'mlm'"):
        heads.get("mlm", None)
