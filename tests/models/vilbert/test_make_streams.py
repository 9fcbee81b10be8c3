import keras
import pytest

from keras_attn.models.vilbert.make_streams import at_the_last
from keras_attn.models.vilbert.make_streams import make_streams

TEXT = {"num_layers": 3, "num_heads": 2, "hidden_dim": 5}
REGIONS = {"num_layers": 2, "num_heads": 3, "hidden_dim": 7}


def make(**options):
    given = {
        "co_attention": {"num_heads": 2, "units": 8},
        "at": None,
        "block": {"epsilon": 0.25},
        "initializer": keras.initializers.RandomNormal(stddev=0.5),
        **options,
    }
    return make_streams(TEXT, REGIONS, **given)


def test_each_block_has_its_sizes():
    streams = make()
    streams.build((None, None, 4), (None, None, 6))
    assert [block.hidden_dim for block in streams.text_blocks] == [5] * 3
    assert [block.num_heads for block in streams.region_blocks] == [3] * 2
    (block, _) = streams.co_blocks
    assert (block.hidden_dim, block.second_hidden_dim) == (5, 7)
    assert block.co_attention.key_dim == 4
    for block in (*streams.text_blocks, *streams.co_blocks):
        assert block.epsilon == 0.25
        assert block.kernel_initializer.stddev == 0.5


def test_co_attention_stands_before_the_last_layers():
    assert make().co_attention_at == [(1, 0), (2, 1)]
    assert make(at=[(2, 2)]).co_attention_at == [(2, 2)]
    # As in the released model.
    assert at_the_last(12, 6) == tuple((6 + i, i) for i in range(6))
    assert at_the_last(1, 2) == ((0, 1),)


@pytest.mark.parametrize("heads", [0, 3])
def test_refuses_heads_that_do_not_divide(heads):
    with pytest.raises(ValueError, match="`num_co_heads` must divide"):
        make(co_attention={"num_heads": heads, "units": 8})
