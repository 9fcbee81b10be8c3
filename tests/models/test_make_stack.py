import keras
import numpy as np
import pytest

from keras_attn.blocks.encoder import EncoderBlock
from keras_attn.models import BERT
from keras_attn.models import Transformer
from keras_attn.models import TransformerCaptioner
from keras_attn.models import ViT
from keras_attn.models.make_stack import make_stack

BLOCK = {"num_heads": 2, "hidden_dim": 5}


def rates_of(stochastic_depth, num_layers=3):
    block = {**BLOCK, "stochastic_depth": stochastic_depth}
    stack = make_stack(EncoderBlock, num_layers, block)
    return [block.stochastic_depth for block in stack.blocks]


def test_blocks_are_alike_and_have_weights_of_their_own():
    normal = keras.initializers.RandomNormal(stddev=0.5)
    stack = make_stack(
        EncoderBlock, 2, BLOCK, initializer=normal, dtype="float64"
    )
    one, two = stack.blocks
    assert one.hidden_dim == two.hidden_dim == 5
    assert one.name != two.name
    stack.build((None, None, 4))
    assert one.dtype == stack.dtype == "float64"
    kernels = [block.self_attention.query_dense.kernel for block in (one, two)]
    assert np.abs(kernels[0] - kernels[1]).max() > 0.1


def test_later_blocks_are_left_out_more_often():
    np.testing.assert_allclose(rates_of(0.3), [0, 0.15, 0.3])
    assert rates_of(0.3, num_layers=1) == [0]


def test_each_block_may_have_its_own_rate():
    assert rates_of((0.25, 0.0, 0.5)) == [0.25, 0.0, 0.5]


def test_each_block_may_have_an_attention_of_its_own():
    attention = [{"sliding_window": 2}, {}, {"num_kv_heads": 1}]
    stack = make_stack(EncoderBlock, 3, {**BLOCK, "attention": attention})
    assert [block.attention for block in stack.blocks] == attention


def test_attentions_of_another_number_are_refused():
    block = {**BLOCK, "attention": [{}, {}]}
    with pytest.raises(ValueError, match=r"each of the 3 layers.*2 of them"):
        make_stack(EncoderBlock, 3, block)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([0.1, 0.2], r"one for each of the 3 layers.*\[0.1, 0.2\]"),
        (1.0, "`stochastic_depth` must be at least 0"),
        ([0.1, 0.2, 1.5], "`stochastic_depth` must be at least 0"),
    ],
)
def test_wrong_rates_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        make_stack(EncoderBlock, 3, {**BLOCK, "stochastic_depth": given}).build(
            (None, None, 4)
        )


@pytest.mark.parametrize(
    ("norm", "ends"), [("post", False), ("pre", True), ("both", True)]
)
def test_a_path_that_no_norm_stands_on_ends_in_one(norm, ends):
    sizes = dict(num_layers=1, num_heads=2, units=4, norm=norm)
    for stack in (
        BERT(7, **sizes).encoder,
        Transformer(7, **sizes).decoder,
        ViT(4, patch_size=2, num_classes=3, **sizes).encoder,
        TransformerCaptioner(
            7, image_shape=(4, 4, 3), patch_size=2, **sizes
        ).decoder,
    ):
        assert (stack.last_norm is not None) == ends
