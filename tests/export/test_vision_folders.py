"""Hugging Face's folders of vision models, exported and asked as a server."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image

from keras_attn import models
from keras_attn.export import Servable
from keras_attn.export import export_model
from keras_attn.export import servable
from keras_attn.export import serve
from keras_attn.export.settings.folder_settings import labels_of
from keras_attn.image.preprocessing import Preprocessing
from keras_attn.text import Tokenizer
from tests.export import echo
from tests.export import served
from tests.models import folders
from tests.models import peers

NAMES = {0: "tench", 1: "hen", 2: "great grey owl", 3: "newt", 4: "ox"}
TEXT = "a man rides a horse on the beach while two dogs run in the water"


def picture(seed, height, width):
    """A PNG of smooth colours and some noise, and what Pillow reads of it."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (3, 4, 3), dtype="uint8"))
    smooth = small.resize((width, height), Image.Resampling.BICUBIC)
    noise = rng.integers(-9, 10, (height, width, 3))
    levels = np.clip(np.asarray(smooth) + noise, 0, 255).astype("uint8")
    file = io.BytesIO()
    Image.fromarray(levels).save(file, "PNG")
    return file.getvalue(), Image.open(file).convert("RGB")


PICTURES = [picture(1, 40, 61), picture(2, 9, 17), picture(3, 48, 48)]
FILES = [file for file, _ in PICTURES]
IMAGES = [image for _, image in PICTURES]


def processor(kind, folder, **settings):
    """An image processor that needs no torchvision, saved."""
    library, name = peers.transformers(), f"{kind}ImageProcessor"
    made = getattr(library, f"{name}Pil", None) or getattr(library, name)
    made = made(**settings)
    made.save_pretrained(folder)
    return made


def ask(made, folder, verb):
    """What a server of this verb answers for the pictures and a broken one."""
    made = Servable(made.task, [made.signatures[verb]])
    version = export_model(made, folder)  # verified in the C++ loader
    assert not served.other_ops(version)
    column = [
        {"b64": base64.b64encode(file).decode()} for file in [*FILES, b"no"]
    ]
    with serve(folder, grpc_port=0, rest_port=0) as server:
        status, answer = echo.http(
            server.rest_port,
            f"/v1/models/{folder.name}:predict",
            {"inputs": column, "signature_name": verb},
        )
    assert status == 200, answer
    assert answer["outputs"]["valid"] == [True, True, True, False]
    return answer["outputs"]


@pytest.mark.peers
def test_a_server_classifies_a_png_as_hugging_face(tmp_path):
    import torch

    source, folder = tmp_path / "source", tmp_path / "deit"
    config = peers.transformers().DeiTConfig(
        hidden_size=12,
        num_hidden_layers=1,
        num_attention_heads=3,
        intermediate_size=10,
        image_size=[8, 12],
        patch_size=4,
        id2label=NAMES,
    )
    peer = peers.make("DeiTForImageClassification", config, source)
    prepare = processor(
        "DeiT",
        source,
        size={"height": 11, "width": 15},
        crop_size={"height": 8, "width": 12},
        image_mean=[0.485, 0.456, 0.406],
        image_std=[0.229, 0.224, 0.225],
    )
    with torch.no_grad():
        logits = peer(**prepare(IMAGES, return_tensors="pt")).logits
    expected = torch.softmax(logits, -1).numpy()

    made = servable(
        models.from_huggingface(source),
        labels=labels_of(source, len(NAMES)),
        preprocessing=Preprocessing.from_huggingface(source),
    )
    answer = ask(made, folder, "classify")
    labels = [NAMES[number] for number in expected.argmax(axis=-1)]
    assert len(set(labels)) > 1, "labels tell nothing if all alike"
    assert answer["label"] == [*labels, ""]
    np.testing.assert_allclose(answer["scores"][:3], expected, atol=5e-3)


def gpt2_tokenizer(folder):
    """A byte-level tokenizer with the one special token that GPT-2 has."""
    import tokenizers

    library, special = peers.transformers(), "<|endoftext|>"
    whole = tokenizers.Tokenizer(tokenizers.models.BPE())
    whole.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(False)
    whole.decoder = tokenizers.decoders.ByteLevel()
    whole.train_from_iterator(
        [TEXT] * 3,
        tokenizers.trainers.BpeTrainer(
            vocab_size=60, special_tokens=[special], show_progress=False
        ),
    )
    made = library.PreTrainedTokenizerFast(
        tokenizer_object=whole,
        bos_token=special,
        eos_token=special,
        pad_token=special,
        unk_token=special,
    )
    made.save_pretrained(folder)
    return made


@pytest.mark.peers
def test_a_server_captions_a_png_as_hugging_face(tmp_path):
    import torch

    source, folder = tmp_path / "source", tmp_path / "captioner"
    library, tokenizer = peers.transformers(), gpt2_tokenizer(source)
    (special,) = tokenizer.all_special_ids
    config = library.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        library.ViTConfig(
            hidden_size=12,
            num_hidden_layers=1,
            num_attention_heads=3,
            intermediate_size=10,
            image_size=8,
            patch_size=4,
        ),
        library.GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=8,
            n_layer=1,
            n_head=2,
            n_positions=16,
            bos_token_id=special,
            eos_token_id=special,
            add_cross_attention=True,
        ),
    )
    config.decoder_start_token_id = config.pad_token_id = special
    config.eos_token_id = special
    peer = peers.make("VisionEncoderDecoderModel", config, source)
    prepare = processor("ViT", source, size={"height": 8, "width": 8})
    pixels = prepare(IMAGES, return_tensors="pt").pixel_values
    with torch.no_grad():
        ids = peer.generate(
            pixels, do_sample=False, num_beams=1, max_new_tokens=7
        )
    expected = tokenizer.batch_decode(
        ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    assert len(set(expected)) > 1, "captions tell nothing if all alike"

    whole = json.loads((source / "config.json").read_text())
    made = servable(
        models.from_huggingface(source),
        tokenizer=Tokenizer.from_huggingface(source),
        start_id=whole["decoder_start_token_id"],
        preprocessing=Preprocessing.from_huggingface(source),
        max_length=7,
    )
    assert "attention" in made.signatures
    assert ask(made, folder, "caption")["text"] == [*expected, ""]


def test_a_folder_is_classified_without_the_library(tmp_path):
    settings = {"id2label": {"2": "c", "0": "a", "1": "b"}}
    folders.write(tmp_path, folders.vit, settings=settings)
    config = {"size": 4, "image_mean": [0.1], "image_std": [2]}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(config))
    wanted = Preprocessing.from_huggingface(tmp_path)
    model = models.from_huggingface(tmp_path)
    made = servable(model, labels=labels_of(tmp_path, 3), preprocessing=wanted)
    answer = made.classify(FILES)
    logits = model(np.stack([wanted(file) for file in FILES]))
    expected = ["abc"[number] for number in np.argmax(logits, axis=-1)]
    assert answer["label"].tolist() == expected
