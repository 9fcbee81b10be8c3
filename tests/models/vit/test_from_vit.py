import functools

import numpy as np
import pytest

from keras_attn.models.vit.model import ViT
from tests.models import folders
from tests.models import peers


def config_of(kind, **settings):
    return getattr(peers.transformers(), f"{kind}Config")(
        **{
            "hidden_size": 12,
            "num_hidden_layers": 2,
            "num_attention_heads": 3,
            "intermediate_size": 10,
            "image_size": 8,
            "patch_size": 2,
            "num_labels": 5,
            **settings,
        }
    )


def ask(peer, images, **options):
    import torch

    pixels = torch.tensor(images.transpose(0, 3, 1, 2))
    with torch.no_grad():
        return peer(pixel_values=pixels, **options)


PEERS = {
    "vit": ("ViT", "ViTForImageClassification", {}),
    "vit_relu_no_bias": (
        "ViT",
        "ViTForImageClassification",
        {"hidden_act": "relu", "qkv_bias": False, "layer_norm_eps": 0.01},
    ),
    "deit": ("DeiT", "DeiTForImageClassificationWithTeacher", {}),
    "deit_one_head": (
        "DeiT",
        "DeiTForImageClassification",
        {"hidden_act": "gelu_new", "layer_norm_eps": 0.02},
    ),
}


@pytest.mark.peers
@pytest.mark.parametrize("name", PEERS)
def test_logits_equal_hugging_face(name, rng, tmp_path):
    kind, cls, settings = PEERS[name]
    peer = peers.make(cls, config_of(kind, **settings), tmp_path)
    model = ViT.from_huggingface(tmp_path)
    images = rng.normal(size=(2, 8, 8, 3)).astype("float32")
    expected = ask(peer, images).logits
    np.testing.assert_allclose(model(images), expected, rtol=1e-4, atol=1e-4)

    other = rng.normal(size=(2, 12, 6, 3)).astype("float32")
    expected = ask(peer, other, interpolate_pos_encoding=True).logits
    resized = model.resized((12, 6))
    np.testing.assert_allclose(resized(other), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.peers
@pytest.mark.parametrize("kind", ["ViT", "DeiT"])
def test_tokens_and_attention_equal_hugging_face(kind, rng, tmp_path):
    config = config_of(kind, num_channels=1, attn_implementation="eager")
    peer = peers.make(f"{kind}Model", config, tmp_path)
    images = rng.normal(size=(2, 8, 8, 1)).astype("float32")
    expected = ask(peer, images, output_attentions=True)
    model = ViT.from_huggingface(tmp_path)
    tokens, weights = model.tokens(images, return_attention_scores=True)
    near = {"rtol": 1e-4, "atol": 1e-4}
    np.testing.assert_allclose(tokens, expected.last_hidden_state, **near)
    for one, two in zip(weights, expected.attentions, strict=True):
        np.testing.assert_allclose(one, two, **near)
    np.testing.assert_allclose(
        model(images), expected.last_hidden_state[:, 0], **near
    )


def test_reads_every_tensor_of_a_folder(tmp_path):
    tensors = folders.write(tmp_path, folders.vit)
    model = ViT.from_huggingface(tmp_path)
    assert model.output_shape == (None, 3)
    assert model.grid == (2, 2)
    assert model.count_params() == sum(x.size for x in tensors.values())
    name = "vit.embeddings.patch_embeddings.projection.weight"
    kernel = model.embedding.patch_embedding.projection.kernel
    # Pixel (1, 0) of a patch, channel 2.
    np.testing.assert_array_equal(kernel[1 * 6 + 2], tensors[name][:, 2, 1, 0])


@pytest.mark.peers
def test_half_precision_is_near_hugging_face(rng, tmp_path):
    import torch

    config = config_of("DeiT")
    peer = peers.make("DeiTForImageClassification", config, tmp_path)
    peer.to(torch.bfloat16).save_pretrained(tmp_path)
    model = ViT.from_huggingface(tmp_path, dtype="bfloat16")
    images = rng.normal(size=(2, 8, 8, 3)).astype("float32")
    expected = ask(peer.float(), images).logits.numpy()
    found = np.array(model(images), "float32")
    assert peers.relative_error(found, expected) < 2e-2


TWO_HEADS = {"cls_classifier": 3, "distillation_classifier": 3}


@pytest.mark.parametrize("heads", [{"classifier": 3}, TWO_HEADS])
def test_deit_has_as_many_heads_as_were_saved(heads, tmp_path):
    kind = functools.partial(folders.vit, "deit", **heads)
    tensors = folders.write(tmp_path, kind)
    model = ViT.from_huggingface(tmp_path)
    assert model.count_params() == sum(x.size for x in tensors.values())
    assert model.num_class_tokens == 2
    dense = model.head.class_dense, model.head.distillation_dense
    assert (dense[1] is not None) == (len(heads) == 2)
    for layer, name in zip(dense, heads, strict=False):
        expected = tensors[f"{name}.weight"].T
        np.testing.assert_array_equal(layer.kernel, expected)


def test_a_head_that_is_not_wanted_is_left_out(tmp_path):
    folders.write(tmp_path, folders.vit)
    model = ViT.from_huggingface(tmp_path, num_classes=None, pooling=None)
    assert model.output_shape == (None, 5, folders.UNITS)


def test_a_folder_without_a_head_gives_the_class_token(tmp_path):
    folders.write(
        tmp_path, folders.vit, drop=["classifier.weight", "classifier.bias"]
    )
    assert ViT.from_huggingface(tmp_path).output_shape == (None, folders.UNITS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_type": "swin"}, r"model_type='swin'.*'deit', 'vit'"),
        ({"model_type": "deit"}, "no tensor 'embeddings."),
        ({"image_size": "big"}, "config.json has image_size='big'"),
        ({"patch_size": [2, 2, 2]}, r"config.json has patch_size=\[2, 2, 2"),
        ({"image_size": 6}, r"position_embeddings.*does not fit"),
        ({"patch_size": 4}, r"projection.weight.*does not fit"),
        ({"hidden_act": "tanh"}, "hidden_act='tanh'"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(settings, message, tmp_path):
    folders.write(tmp_path, folders.vit, settings=settings)
    with pytest.raises(ValueError, match=message):
        ViT.from_huggingface(tmp_path)
