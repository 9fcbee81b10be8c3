import pytest

from keras_attn.models.vilbert.model import ViLBERT

USED = {"base-6": 235_705_856}
DECLARED = {"base-6": 246_726_656}


def count(name):
    """Count a preset's trunk without making gigabytes of it.

    The count is linear in layers and in tokens, so models of one or two of
    each tell all.
    """
    given = ViLBERT.presets[name]

    def made(text=0, regions=0, co=0, tokens=1):
        return ViLBERT.from_preset(
            name,
            num_layers=text,
            num_region_layers=regions,
            co_attention_at=((0, 0),) * co,
            vocabulary_size=tokens,
        ).count_params()

    least = made()
    return (
        least
        + given["num_layers"] * (made(text=1) - least)
        + given["num_region_layers"] * (made(regions=1) - least)
        + len(given["co_attention_at"]) * (made(co=1) - least)
        + (given["vocabulary_size"] - 1) * (made(tokens=2) - least)
    )


@pytest.mark.parametrize("name", ViLBERT.presets)
def test_every_preset_has_the_parameters_that_the_released_model_uses(name):
    used = count(name)
    assert used == USED[name]
    # What the released code declares besides, in each co-attention block: a
    # second output map of each stream, `q_dense1` and `q_dense2`.
    given = ViLBERT.presets[name]
    unused = sum(
        given["co_units"] * units + units
        for units in (given["units"], given["region_units"])
    )
    assert unused == 1_836_800
    assert used + len(given["co_attention_at"]) * unused == DECLARED[name]
