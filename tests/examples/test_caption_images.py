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
    right, pointed = caption_images.main(config)
    # One caption for all would be right about once in a hundred, and a cell
    # drawn at random in one of sixteen.
    assert right > 0.1
    assert pointed > 0.25
    assert np.array(Image.open(tmp_path / "caption.png")).std() > 0
    assert (tmp_path / "captioner" / "1" / "saved_model.pb").is_file()
