import keras
import pytest

from keras_attn import layers

PUBLIC = [name for name in vars(layers) if not name.startswith("_")]


def test_every_layer_is_behind_the_door():
    assert set(PUBLIC) == {
        "AdditiveAttention",
        "AttentionCell",
        "AttentionPooling",
        "AttentionRNN",
        "ClassToken",
        "CoAttention",
        "CoAttentionBlock",
        "DecoderBlock",
        "DotAttention",
        "EncoderBlock",
        "FeedForward",
        "GatedFeedForward",
        "LayerScale",
        "LearnedPosition",
        "LocalAttention",
        "LocalitySelfAttention",
        "LocationSensitiveAttention",
        "MaskedConvolution",
        "MultiHeadAttention",
        "MultiplicativeAttention",
        "PatchEmbedding",
        "SelfAttention",
        "ShiftedPatchTokenization",
        "SinePosition",
        "SpatialSelfAttention",
        "SpectralNormalization",
        "StochasticDepth",
        "TokenEmbedding",
    }


@pytest.mark.parametrize("name", PUBLIC)
def test_a_saved_layer_is_found_by_its_name(name):
    layer_class = getattr(layers, name)
    assert keras.saving.get_registered_object(f"keras_attn>{name}") is (
        layer_class
    )
