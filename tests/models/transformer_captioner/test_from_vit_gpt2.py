import numpy as np
import pytest

from keras_attn import models
from keras_attn.decoding import generate
from keras_attn.models.transformer_captioner.model import TransformerCaptioner
from tests.models import folders
from tests.models import peers
from tests.models.stepping import step_through

NEAR = {"rtol": 1e-4, "atol": 1e-4}
VOCABULARY = 23
# Settings of encoder, decoder and the whole.
CASES = {
    "other_widths": (
        {"hidden_size": 12, "num_attention_heads": 3},
        {"n_embd": 10, "n_head": 2, "n_inner": 7, "layer_norm_epsilon": 0.01},
        {"decoder_start_token_id": 1, "pad_token_id": 1, "eos_token_id": 1},
    ),
    "deit_untied": (
        {"hidden_size": 8, "num_attention_heads": 2, "hidden_act": "relu"},
        {"n_embd": 8, "n_head": 4, "tie_word_embeddings": False},
        {"decoder_start_token_id": 4, "pad_token_id": 0, "eos_token_id": 2},
    ),
}


@pytest.fixture(scope="module", params=CASES)
def pair(request, tmp_path_factory):
    """A model of the real library, ours, and images for both."""
    seeing, writing, whole = CASES[request.param]
    library = peers.transformers()
    kind = "DeiT" if "deit" in request.param else "ViT"
    encoder = getattr(library, f"{kind}Config")(
        num_hidden_layers=2,
        intermediate_size=9,
        image_size=[8, 12],
        patch_size=4,
        **seeing,
    )
    decoder = library.GPT2Config(
        vocab_size=VOCABULARY,
        n_layer=2,
        n_positions=16,
        bos_token_id=whole["decoder_start_token_id"],
        eos_token_id=whole["eos_token_id"],
        add_cross_attention=True,
        **writing,
    )
    cls = library.VisionEncoderDecoderConfig
    config = cls.from_encoder_decoder_configs(encoder, decoder)
    for name, value in whole.items():
        setattr(config, name, value)
    folder = tmp_path_factory.mktemp(request.param)
    peer = peers.make("VisionEncoderDecoderModel", config, folder)
    ours = models.from_huggingface(folder)
    images = np.random.default_rng(7).normal(size=(4, 8, 12, 3))
    return peer, ours, images.astype("float32"), folder, whole


def ask(peer, images, target):
    pixels = images.transpose(0, 3, 1, 2)
    return peers.ask(peer, pixel_values=pixels, decoder_input_ids=target)


def targets(rng, whole):
    """Rows that start as captions do, without padding."""
    target = rng.integers(5, VOCABULARY, size=(4, 6))
    target[:, 0] = whole["decoder_start_token_id"]
    return target


@pytest.mark.peers
def test_logits_equal_hugging_face(pair, rng):
    peer, ours, images, _, whole = pair
    assert isinstance(ours, TransformerCaptioner)
    target = targets(rng, whole)
    expected = ask(peer, images, target)["logits"]
    np.testing.assert_allclose(
        ours({"image": images, "target": target}), expected, **NEAR
    )
    forced = ours.teacher_forced(images, target)
    np.testing.assert_allclose(forced, expected, **NEAR)
    stepped, _ = step_through(ours, ours.encode(images, 6), target)
    np.testing.assert_allclose(stepped, expected, **NEAR)


@pytest.mark.peers
def test_rows_of_other_lengths_are_as_alone(pair, rng):
    peer, ours, images, _, whole = pair
    target = targets(rng, whole)
    expected = ask(peer, images, target)["logits"]
    real = np.arange(6) < np.array([[6], [3], [5], [1]])
    target = np.where(real, target, whole["pad_token_id"])
    found = ours({"image": images, "target": target}).numpy()
    np.testing.assert_allclose(found[real], expected[real], **NEAR)


@pytest.mark.peers
def test_half_precision_is_near_hugging_face(pair, rng, tmp_path):
    import torch

    peer, _, images, folder, whole = pair
    half = type(peer).from_pretrained(folder).eval().to(torch.bfloat16)
    half.save_pretrained(tmp_path)
    ours = models.from_huggingface(tmp_path, dtype="bfloat16")
    assert ours.encoder.compute_dtype == "bfloat16"
    target = targets(rng, whole)
    expected = ask(half.float(), images, target)["logits"]
    found = np.array(ours.teacher_forced(images, target), "float32")
    assert peers.relative_error(found, expected) < 2e-2


@pytest.mark.peers
@pytest.mark.parametrize("num_beams", [1, 3])
def test_captions_equal_hugging_face(pair, num_beams):
    import torch

    peer, ours, images, _, whole = pair
    expected = peer.generate(
        torch.tensor(images.transpose(0, 3, 1, 2)),
        do_sample=False,
        num_beams=num_beams,
        max_new_tokens=9,
        pad_token_id=whole["pad_token_id"],
    )[:, 1:].numpy()
    assert len({tuple(row) for row in expected}) > 1
    beams = {"search": "beam", "rule": "huggingface", "length_penalty": 1.0}
    found = generate(
        ours,
        images,
        max_length=9,
        start_id=whole["decoder_start_token_id"],
        end_id=whole["eos_token_id"],
        **(beams | {"width": num_beams} if num_beams > 1 else {}),
    )
    found = found[0][:, 0] if num_beams > 1 else found
    for row, wanted in zip(found, expected, strict=True):
        ends = np.flatnonzero(wanted == whole["eos_token_id"])
        length = ends[0] + 1 if len(ends) else len(wanted)
        np.testing.assert_array_equal(row[:length], wanted[:length])


def test_reads_every_tensor_of_a_folder(tmp_path):
    more = {"encoder.pooler.dense.bias": (folders.UNITS,)}
    more |= {"decoder.transformer.h.1.crossattention.masked_bias": (1,)}
    tensors = folders.write(tmp_path, folders.vit_gpt2, more=more)
    model = models.from_huggingface(tmp_path)
    total = sum(tensors[name].size for name in tensors.keys() - more.keys())
    assert model.count_params() == total
    assert model.output_shape == (None, None, 11)
    assert model.config["pad_id"] == 2
    name = "decoder.transformer.h.1.crossattention.c_attn.bias"
    attention = model.decoder.blocks[1].cross_attention
    both = [
        np.ravel(x.bias) for x in (attention.key_dense, attention.value_dense)
    ]
    np.testing.assert_array_equal(np.concatenate(both), tensors[name])
    name = "enc_to_dec_proj.weight"
    kernel = model.project_memory.kernel
    np.testing.assert_array_equal(kernel, tensors[name].T)


def test_what_captions_start_with_is_not_hidden_as_padding(tmp_path):
    folders.write(tmp_path, folders.vit_gpt2, settings={"pad_token_id": 1})
    assert models.from_huggingface(tmp_path).config["pad_id"] is None


def parts(**settings):
    """The folder's settings, with others in one of its parts."""
    config = folders.vit_gpt2()[0]
    return {name: config[name] | given for name, given in settings.items()}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoder": None}, "config.json has encoder=None"),
        (parts(encoder={"model_type": "swin"}), r"encoder.model_type='swin'"),
        (parts(decoder={"model_type": "bert"}), r"decoder.model_type='bert'"),
        (parts(encoder={"hidden_act": "tanh"}), "encoder.hidden_act='tanh'"),
        (parts(encoder={"image_size": 0}), "has encoder.image_size=0"),
        (parts(decoder={"n_layer": "two"}), "has decoder.n_layer='two'"),
        (parts(decoder={"n_head": None}), "no field 'decoder.n_head'"),
        (
            parts(decoder={"add_cross_attention": False}),
            "decoder.add_cross_attention=False",
        ),
        (
            parts(decoder={"scale_attn_by_inverse_layer_idx": True}),
            "decoder.scale_attn_by_inverse_layer_idx=True",
        ),
        ({"pad_token_id": 11}, "pad_token_id=11, which is none of"),
        (parts(decoder={"n_layer": 3}), "holds no tensor 'h.2"),
        (parts(decoder={"n_layer": 1}), "tensors that the model has no place"),
        (parts(decoder={"n_positions": 8}), "wpe.weight.*does not fit"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(settings, message, tmp_path):
    folders.write(tmp_path, folders.vit_gpt2, settings=settings)
    with pytest.raises(ValueError, match=message):
        models.from_huggingface(tmp_path)


@pytest.mark.parametrize(
    "name", ["enc_to_dec_proj.weight", "h.0.ln_cross_attn.bias"]
)
def test_a_missing_tensor_is_named(name, tmp_path):
    folders.write(tmp_path, folders.vit_gpt2, drop=[name])
    with pytest.raises(ValueError, match=f"holds no tensor '{name}'"):
        models.from_huggingface(tmp_path)
