import json

import pytest

from keras_attn.image import preprocessor_config

# As published in 2021, and as they are written today.
OLD_VIT = {
    "do_normalize": True,
    "do_resize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "size": 224,
}
NEW_VIT = {
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "do_convert_rgb": None,
    "image_mean": [0.5, 0.5, 0.5],
    "image_processor_type": "ViTImageProcessor",
    "image_std": [0.5, 0.5, 0.5],
    "resample": 2,
    "rescale_factor": 1 / 255,
    "size": {"height": 224, "width": 224},
}
OLD_DEIT = {
    "crop_size": 224,
    "do_center_crop": True,
    "do_normalize": True,
    "do_resize": True,
    "feature_extractor_type": "DeiTFeatureExtractor",
    "image_mean": [0.485, 0.456, 0.406],
    "image_std": [0.229, 0.224, 0.225],
    "resample": 3,
    "size": 256,
}


def write(folder, config, **model):
    (folder / "preprocessor_config.json").write_text(json.dumps(config))
    (folder / "config.json").write_text(json.dumps(model))
    return folder


@pytest.mark.parametrize("config", [OLD_VIT, NEW_VIT])
def test_vit_is_read(config, tmp_path):
    assert preprocessor_config.read(write(tmp_path, config)) == {
        "resize": (224, 224),
        "crop": None,
        "method": "bilinear",
        "scale": 1 / 255,
        "mean": (0.5, 0.5, 0.5),
        "std": (0.5, 0.5, 0.5),
    }


def test_deit_is_read(tmp_path):
    assert preprocessor_config.read(write(tmp_path, OLD_DEIT)) == {
        "resize": (256, 256),
        "crop": (224, 224),
        "method": "bicubic",
        "scale": 1 / 255,
        "mean": (0.485, 0.456, 0.406),
        "std": (0.229, 0.224, 0.225),
    }


@pytest.mark.parametrize(
    "model", [{"model_type": "deit"}, {"encoder": {"model_type": "deit"}}]
)
def test_a_file_without_a_type_is_its_models(model, tmp_path):
    made = preprocessor_config.read(write(tmp_path, {}, **model))
    assert (made["resize"], made["crop"]) == ((256, 256), (224, 224))
    assert made["method"] == "bicubic"
    made = preprocessor_config.read(write(tmp_path, {}, model_type="vit"))
    assert (made["resize"], made["crop"]) == ((224, 224), None)


def test_what_is_not_done_changes_nothing(tmp_path):
    off = {"do_rescale": False, "do_normalize": False, "do_center_crop": False}
    made = preprocessor_config.read(write(tmp_path, OLD_DEIT | off))
    assert made["crop"] is None
    assert (made["scale"], made["mean"], made["std"]) == (1, (0,), (1,))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image_processor_type": "CLIPImageProcessor"}, "image_processor_typ"),
        ({"feature_extractor_type": "BeitFeatureExtractor"}, "Supported|supp"),
        ({"do_resize": False}, "do_resize=False; only true"),
        ({"resample": 0}, r"resample=0; supported are 1 \(lanczos3\), 2"),
        ({"resample": "cubic"}, "resample='cubic'"),
        ({"resample": [2]}, r"resample=\[2\]"),
        ({"size": {"longest_edge": 8}}, "size={'longest_edge': 8}"),
        ({"size": {"shortest_edge": 8}}, "without do_center_crop"),
        ({"size": [8, 8]}, r"size=\[8, 8\]"),
        ({"size": 0}, "size=0"),
        ({"size": {"height": 8, "width": "w"}}, "size={'height': 8"),
        ({"do_center_crop": True, "crop_size": 300}, "crop_size=300.*size=22"),
        ({"do_center_crop": True}, "crop_size=None"),
        (
            {"do_center_crop": True, "crop_size": {"shortest_edge": 3}},
            "crop_size={'shortest_edge': 3}",
        ),
        ({"image_mean": [0.5, 0.5]}, r"image_mean=\[0.5, 0.5\]"),
        ({"image_mean": "grey"}, "image_mean='grey'"),
        ({"image_std": [0.5, 0, 0.5]}, r"image_std=\[0.5, 0, 0.5\]"),
        ({"rescale_factor": [1, 2, 3]}, r"rescale_factor=\[1, 2, 3\]"),
        ({"do_pad": True}, "do_pad=True, which is not supported"),
        ({"crop_pct": 0.9}, "crop_pct=0.9"),
    ],
)
def test_what_cannot_be_expressed_is_named(settings, message, tmp_path):
    write(tmp_path, OLD_VIT | settings)
    with pytest.raises(
        ValueError, match=f"preprocessor_config.json has .*({message})"
    ):
        preprocessor_config.read(tmp_path)


def test_a_missing_or_broken_file_is_named(tmp_path):
    path = tmp_path / preprocessor_config.FILE
    with pytest.raises(FileNotFoundError, match=r"no file .*preprocessor_conf"):
        preprocessor_config.read(tmp_path)
    for text, message in (("{", "not valid JSON"), ("[]", "not a JSON object")):
        path.write_text(text)
        with pytest.raises(ValueError, match=f"{path.name} is {message}"):
            preprocessor_config.read(tmp_path)
