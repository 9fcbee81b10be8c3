"""No public layer, modifier or model escapes the contract."""

import ast
import inspect
import pathlib

import keras
import pytest

import keras_attn
from keras_attn.base.layer import Layer
from tests.modifiers.test_modifier import MODIFIERS

TESTS = pathlib.Path(__file__).parent

# Where each public class has a `test_contract`.
CONTRACTS = {
    "layers.AdditiveAttention": "attention/test_additive.py",
    "layers.AttentionCell": "blocks/test_attention_cell.py",
    "layers.AttentionPooling": "attention/test_pooling.py",
    "layers.AttentionRNN": "blocks/test_attention_rnn.py",
    "layers.ClassToken": "embeddings/test_class_token.py",
    "layers.CoAttention": "attention/test_co_attention.py",
    "layers.CoAttentionBlock": "blocks/test_co_attention.py",
    "layers.DecoderBlock": "blocks/test_decoder.py",
    "layers.DotAttention": "attention/test_dot.py",
    "layers.EncoderBlock": "blocks/test_encoder.py",
    "layers.FeedForward": "blocks/test_feed_forward.py",
    "layers.GatedFeedForward": "blocks/test_gated_feed_forward.py",
    "layers.LayerScale": "blocks/test_layer_scale.py",
    "layers.LearnedPosition": "embeddings/test_learned_position.py",
    "layers.LocalAttention": "attention/test_local.py",
    "layers.LocalitySelfAttention": "attention/test_locality.py",
    "layers.LocationSensitiveAttention": (
        "attention/test_location_sensitive.py"
    ),
    "layers.MaskedConvolution": "blocks/test_masked_convolution.py",
    "layers.MultiHeadAttention": "attention/test_multi_head.py",
    "layers.MultiplicativeAttention": "attention/test_multiplicative.py",
    "layers.PatchEmbedding": "embeddings/test_patch.py",
    "layers.SelfAttention": "attention/test_self_attention.py",
    "layers.ShiftedPatchTokenization": "embeddings/test_shifted_patch.py",
    "layers.SinePosition": "embeddings/test_sine_position.py",
    "layers.SpatialSelfAttention": "attention/test_spatial.py",
    "layers.SpectralNormalization": "wrappers/test_spectral_normalization.py",
    "layers.StochasticDepth": "blocks/test_stochastic_depth.py",
    "layers.TokenEmbedding": "embeddings/test_token.py",
    "models.BERT": "models/bert/test_model.py",
    "models.GPT": "models/gpt/test_model.py",
    "models.RNNCaptioner": "models/rnn_captioner/test_model.py",
    "models.RNNLanguageModel": "models/rnn_language_model/test_model.py",
    "models.RNNSeq2Seq": "models/rnn_seq2seq/test_model.py",
    "models.SAGAN": "models/sagan/test_model.py",
    "models.SequenceRegressor": "models/sequence_regressor/test_model.py",
    "models.Transformer": "models/transformer/test_model.py",
    "models.ViLBERT": "models/vilbert/test_model.py",
    "models.ViT": "models/vit/test_model.py",
    "models.TransformerCaptioner": "models/transformer_captioner/test_model.py",
}
# Modifiers have a contract of their own, and their base class needs none.
CHECKED_MODIFIERS = {f"modifiers.{cls.__name__}" for cls, _ in MODIFIERS}
ABSTRACT = {"modifiers.Modifier"}


def public_classes():
    """Yield the public Keras classes by the names of their doors."""
    for door in ("layers", "models", "modifiers"):
        for name, thing in vars(getattr(keras_attn, door)).items():
            if inspect.isclass(thing) and issubclass(thing, keras.Layer):
                yield f"{door}.{name}", thing


def checked_classes(source):
    """Names of the classes that `test_contract` checks."""
    for function in ast.walk(ast.parse(source)):
        if getattr(function, "name", None) != "test_contract":
            continue
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and call.args:
                checker = getattr(call.func, "id", "")
                if checker in ("check_layer", "check_model"):
                    yield getattr(call.args[0], "id", None)


def test_every_public_class_is_on_the_list():
    listed = CONTRACTS.keys() | CHECKED_MODIFIERS | ABSTRACT
    assert dict(public_classes()).keys() == listed


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_contract_is_checked_where_the_list_says(name):
    source = (TESTS / CONTRACTS[name]).read_text()
    assert name.split(".")[1] in checked_classes(source)


@pytest.mark.parametrize("name", dict(public_classes()))
def test_every_public_layer_is_one_of_ours(name):
    thing = dict(public_classes())[name]
    assert issubclass(thing, (Layer, keras.Model))


def test_a_class_that_is_not_checked_is_noticed():
    source = "def test_contract(x):\n    check_layer(One, {})\n    Two()\n"
    assert list(checked_classes(source)) == ["One"]
    assert not list(checked_classes(source.replace("contract", "another")))
