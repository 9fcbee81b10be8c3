import numpy as np
import pytest
from PIL import Image

from examples import caption_images


@pytest.mark.slow
def test_it_writes_what_it_sees_and_looks_at_it(tmp_path):
    config = caption_images.Config(
        num_scenes=8_000,
        steps=600,
        num_held_out=64,
        folder=str(tmp_path),
    )
    row = caption_images.main(config)["attention"]
    # One caption for all would be right about once in a hundred, and a cell
    # drawn at random in one of sixteen.
    assert row["right"] > 0.1
    assert row["pointed"] > 0.25
    assert np.array(Image.open(tmp_path / "caption.png")).std() > 0
    assert (tmp_path / "captioner" / "1" / "saved_model.pb").is_file()


@pytest.mark.slow
def test_it_compares_all_captioners_in_one_table(capsys):
    config = caption_images.Config(
        compare=True,
        num_scenes=256,
        units=8,
        num_layers=1,
        num_heads=2,
        steps=3,
        num_held_out=5,
    )
    rows = caption_images.main(config)
    assert list(rows) == ["mean", "attention", "cnn", "vit"]
    assert "pointed" not in rows["mean"] and not rows["attention"]["place"]
    for name in ("cnn", "vit"):
        assert rows[name]["place"]["layer"] == 0
        assert 0 <= rows[name]["pointed"] <= 1
        assert rows[name]["chance"] == pytest.approx(1 / 16)
    *_, cnn, vit = capsys.readouterr().out.splitlines()
    assert cnn.startswith("| CNN + Transformer | ")
    assert f"| {rows['vit']['parameters']:,} |" in vit


def test_an_unknown_captioner_is_refused():
    config = caption_images.Config(model="gpt")
    with pytest.raises(ValueError, match="--model is one of mean, attention"):
        caption_images.make_model(config, 9, (32, 32, 1))
