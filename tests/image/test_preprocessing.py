import io
import json

import numpy as np
import pytest
from PIL import Image

from keras_attn.image.preprocessing import Preprocessing
from tests.export.image_files import GOOD
from tests.models import peers

MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.3, 0.25)


def by_pillow(file, resize, crop=None, method=Image.Resampling.BILINEAR):
    """The levels of a file, resized and cropped: (height, width, 3)."""
    image = Image.open(io.BytesIO(file)).convert("RGB")
    image = image.resize(resize[::-1], method)
    if crop is not None:
        top, left = ((a - b) // 2 for a, b in zip(resize, crop, strict=True))
        image = image.crop((left, top, left + crop[1], top + crop[0]))
    return np.asarray(image, "float32")


def near(found, expected, step):
    """Equal but for one level in few pixels."""
    off = np.abs(found - expected)
    assert off.max() < 1.01 * step and np.mean(off > 0.01 * step) < 0.1


@pytest.mark.parametrize("name", ["png", "png_with_alpha", "wide", "one_pixel"])
def test_matches_the_equation(name):
    made = Preprocessing((6, 5), mean=MEAN, std=STD)
    levels = by_pillow(GOOD[name], (6, 5))
    expected = (levels / 255 - MEAN) / STD
    found = made(GOOD[name])
    assert found.shape == (6, 5, 3) and found.dtype == "float32"
    near(found, expected, 1 / 255 / min(STD))


@pytest.mark.parametrize("crop", [(4, 7), (3, 4), (11, 9)])
def test_the_middle_is_cut_out_after_resizing(crop):
    made = Preprocessing((11, 9), crop=crop, method="bicubic", scale=1.0)
    assert made.size == crop
    expected = by_pillow(
        GOOD["png"], (11, 9), crop, method=Image.Resampling.BICUBIC
    )
    near(made(GOOD["png"]), expected, 1)


def test_a_shorter_side_keeps_the_proportions():
    made = Preprocessing(8, crop=(8, 6), scale=1.0)
    # 3 × 40 pixels become 8 × 106, 9 × 7 become 10 × 8.
    for name, resized in (("wide", (8, 106)), ("png", (10, 8))):
        near(made(GOOD[name]), by_pillow(GOOD[name], resized, (8, 6)), 1)


def test_colours_become_grey_where_the_model_sees_grey():
    made = Preprocessing((6, 5), scale=1.0)
    grey = Image.open(io.BytesIO(GOOD["png"])).convert("L")
    expected = grey.resize((5, 6), Image.Resampling.BILINEAR)
    found = made(GOOD["png"], 1)
    assert found.shape == (6, 5, 1)
    near(found[..., 0], np.asarray(expected, "float32"), 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"resize": 8}, "Give `crop` as well"),
        ({"resize": 8, "crop": (8, 9)}, r"crop=\(8, 9\)"),
        ({"resize": (6, 9), "crop": (7, 9)}, r"crop=\(7, 9\)"),
        ({"resize": (6, 9), "method": "nearest"}, "'nearest'"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Preprocessing(**arguments)


def test_a_mean_for_each_channel_is_wanted():
    with pytest.raises(ValueError, match="`mean` has 3 numbers, and images"):
        Preprocessing((6, 5), mean=MEAN)(GOOD["png"], 1)


# A processor's class and its settings.
PROCESSORS = {
    "vit": ("ViT", {"size": {"height": 8, "width": 11}, "image_mean": MEAN}),
    "deit": (
        "DeiT",
        {
            "size": {"height": 14, "width": 13},
            "crop_size": {"height": 9, "width": 12},
            "image_std": STD,
        },
    ),
    "shorter_side": (
        "ViT",
        {
            "size": {"shortest_edge": 9},
            "do_center_crop": True,
            "crop_size": 8,
            "resample": 1,
            "do_normalize": False,
        },
    ),
    "levels": (
        "ViT",
        {"size": 7, "do_rescale": False, "image_std": [3, 2, 1]},
    ),
}


@pytest.mark.peers
@pytest.mark.parametrize("name", PROCESSORS)
def test_pixels_equal_hugging_face(name, tmp_path):
    kind, settings = PROCESSORS[name]
    library = peers.transformers()
    # The one that needs no torchvision.
    cls = f"{kind}ImageProcessor"
    cls = getattr(library, f"{cls}Pil", None) or getattr(library, cls)
    processor = cls(**settings)
    processor.save_pretrained(tmp_path)
    made = Preprocessing.from_huggingface(tmp_path)
    saved = json.loads((tmp_path / "preprocessor_config.json").read_text())
    std = saved["image_std"] if saved["do_normalize"] else [1]
    step = (1 / 255 if saved["do_rescale"] else 1) / min(std)
    rng = np.random.default_rng(3)
    for size in ((40, 61), (5, 7), (33, 40)):
        image = Image.fromarray(rng.integers(0, 256, (*size, 3), dtype="uint8"))
        file = io.BytesIO()
        image.save(file, "PNG")
        expected = processor(image, return_tensors="np")["pixel_values"][0]
        near(made(file.getvalue()), expected.transpose(1, 2, 0), step)
