import inspect

import pytest

from keras_attn.models.vilbert import heads


def of_parts(name):
    """What a head makes of parts that say their own names."""
    names = ("text", "regions", "all_regions", "fused")
    parts = {each: each for each in names}
    parts |= {
        "pooled_text": "pooled_text",
        "pooled_regions": "pooled_regions",
        "dense": lambda size, name: lambda x: f"{name}[{size}]({x})",
        "hidden": lambda size, name: lambda x: f"hidden[{size}]({x})",
        "drop": lambda x: f"drop({x})",
        "score_masked": lambda x: f"scores({x})",
        "num_classes": 3,
        "num_region_classes": 5,
        "co_units": 8,
        "region_units": 6,
    }
    return heads.HEADS[name].build(**parts)


LAYERS = {
    None: {
        "text": "text",
        "regions": "all_regions",
        "pooled_text": "pooled_text",
        "pooled_regions": "pooled_regions",
    },
    "masked_lm": "scores(text)",
    "masked_regions": "masked_regions[5](hidden[6](regions))",
    "alignment": "alignment[2](drop(fused))",
    "pretraining": {
        "masked_lm": "scores(text)",
        "masked_regions": "masked_regions[5](hidden[6](regions))",
        "alignment": "alignment[2](drop(fused))",
    },
    "vqa": "vqa[3](hidden[16](drop(fused)))",
    "retrieval": "retrieval[1](drop(fused))",
    "referring": "referring[1](drop(regions))",
}


@pytest.mark.parametrize("name", heads.HEADS)
def test_each_head_is_the_layers_it_says(name):
    expected = LAYERS[name]
    assert of_parts(name) == expected
    pooled = "pooled" in str(expected) or "fused" in str(expected)
    assert heads.HEADS[name].pools == pooled


def test_a_head_that_reads_answers_needs_their_number():
    for name, head in heads.HEADS.items():
        reads = "num_classes" in inspect.signature(head.build).parameters
        assert head.classifies == reads
        assert heads.get(name, 3 if reads else None, 5) is head
        with pytest.raises(ValueError, match="`num_classes`"):
            heads.get(name, None if reads else 3, 5)


def test_a_head_that_names_regions_needs_their_classes():
    for name in ("masked_regions", "pretraining"):
        with pytest.raises(ValueError, match="needs `num_region_classes`"):
            heads.get(name, None, None)
    # They stay for a head that comes later.
    assert heads.get("alignment", None, 5) is heads.HEADS["alignment"]


def test_a_wrong_head_gets_the_right_ones():
    with pytest.raises(ValueError, match=r"None, 'masked_lm'.*'nlvr'"):
        heads.get("nlvr", None, None)
