"""Reads how Hugging Face's processors of ViT and DeiT treat an image."""

import pathlib
import re

from keras_attn.base.json_file import read_fields

FILE = "preprocessor_config.json"
_METHODS = {1: "lanczos3", 2: "bilinear", 3: "bicubic"}  # by Pillow's numbers
_DEFAULTS = {
    "ViT": {"size": 224, "resample": 2},
    "DeiT": {
        "size": 256,
        "resample": 3,
        "crop_size": 224,
        "do_center_crop": True,
    },
}
_ALL_DEFAULTS = {
    "do_resize": True,
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.5],
    "image_std": [0.5],
    "crop_size": None,
    "do_center_crop": False,
}
# What says nothing of pixels.
_OTHERS = {
    "image_processor_type",
    "feature_extractor_type",
    "processor_class",
    "_processor_class",
    "_valid_processor_keys",
    "transformers_version",
    "data_format",
    "input_data_format",
    "return_tensors",
    "device",
    "disable_grouping",
    "default_to_square",
    "image_seq_length",
    # Files without colours are given three equal ones in any case.
    "do_convert_rgb",
}


def read(folder: pathlib.Path) -> dict:
    """The arguments of `Preprocessing` that a folder stands for.

    Args:
        folder: Holds `preprocessor_config.json`.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it asks for what cannot be expressed; the message names
            the file and the key.
    """
    path = folder / FILE
    given = read_fields(path)
    kind = _kind(path, given)
    config = {**_ALL_DEFAULTS, **_DEFAULTS[kind]}
    for key, value in given.items():
        if key in config:
            config[key] = config[key] if value is None else value
        elif key not in _OTHERS and value not in (None, False):
            raise ValueError(
                f"{path} has {key}={value!r}, which is not supported."
            )
    if not config["do_resize"]:
        raise ValueError(
            f"{path} has do_resize={config['do_resize']!r}; only true is "
            "supported, because a served model takes images of one size."
        )
    method = config["resample"]
    if method not in list(_METHODS):
        raise ValueError(
            f"{path} has resample={method!r}; supported are "
            + ", ".join(f"{key} ({name})" for key, name in _METHODS.items())
            + "."
        )
    resize, crop = _size(path, "size", config), None
    if config["do_center_crop"]:
        crop = _size(path, "crop_size", config)
    sides = (resize, resize) if isinstance(resize, int) else resize
    if crop is None and isinstance(resize, int):
        raise ValueError(
            f"{path} has size={config['size']!r} without do_center_crop: "
            "images would differ in size."
        )
    if crop is not None and any(
        part > side for part, side in zip(crop, sides, strict=True)
    ):
        raise ValueError(
            f"{path} has crop_size={config['crop_size']!r}, which is more than "
            f"size={config['size']!r}; padding is not supported."
        )
    return {
        "resize": resize,
        "crop": crop,
        "method": _METHODS[method],
        **_normalization(path, config),
    }


def _normalization(path, config):
    made = {"scale": 1.0, "mean": (0.0,), "std": (1.0,)}
    if config["do_rescale"]:
        (made["scale"],) = _numbers(path, "rescale_factor", config, (1,))
    if config["do_normalize"]:
        made["mean"] = _numbers(path, "image_mean", config)
        made["std"] = _numbers(path, "image_std", config)
        if 0 in made["std"]:
            raise ValueError(
                f"{path} has image_std={config['image_std']!r}, by which "
                "nothing can be divided."
            )
    return made


def _kind(path, given):
    """Whose processor it is; old files leave that to the model's config."""
    for key in ("image_processor_type", "feature_extractor_type"):
        if given.get(key) is None:
            continue
        found = re.fullmatch(
            "(ViT|DeiT)(ImageProcessor|FeatureExtractor)(Fast|Pil)?",
            str(given[key]),
        )
        if found is None:
            raise ValueError(
                f"{path} has {key}={given[key]!r}; supported are "
                "'ViTImageProcessor' and 'DeiTImageProcessor'."
            )
        return found[1]
    model = read_fields(path.with_name("config.json"))
    parts = model, model.get("encoder")
    kinds = [part.get("model_type") for part in parts if isinstance(part, dict)]
    return "DeiT" if "deit" in kinds else "ViT"


def _size(path, key, config):
    """Height and width; or one number, the shorter side."""
    value = config[key]
    if _is_side(value):
        return value, value
    if isinstance(value, dict) and all(map(_is_side, value.values())):
        if value.keys() == {"height", "width"}:
            return value["height"], value["width"]
        if value.keys() == {"shortest_edge"} and key == "size":
            return value["shortest_edge"]
    raise ValueError(
        f"{path} has {key}={value!r}; supported is a number of pixels, or "
        '{"height": ..., "width": ...}'
        + (', or {"shortest_edge": ...}.' if key == "size" else ".")
    )


def _is_side(value):
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _numbers(path, key, config, lengths=(1, 3)):
    value = config[key]
    numbers = value if isinstance(value, list) else [value]
    if len(numbers) not in lengths or not all(
        isinstance(x, (int, float)) and not isinstance(x, bool) for x in numbers
    ):
        raise ValueError(
            f"{path} has {key}={value!r}; wanted is a number"
            + (", or one for each channel." if 3 in lengths else ".")
        )
    return tuple(map(float, numbers))
