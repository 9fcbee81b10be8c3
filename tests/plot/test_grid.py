import numpy as np
import pytest

from keras_attn import plot


def drawn(figure):
    (axes,) = figure.axes
    (image,) = axes.images
    return np.asarray(image.get_array()), axes


def test_images_stand_in_rows(rng):
    images = rng.uniform(size=(5, 4, 6, 3))
    canvas, _ = drawn(plot.grid(images, columns=3))
    assert canvas.shape == (4 + 1 + 4, 6 * 3 + 2, 3)
    for number, (top, left) in enumerate(
        [(0, 0), (0, 7), (0, 14), (5, 0), (5, 7)]
    ):
        part = canvas[top : top + 4, left : left + 6]
        np.testing.assert_array_equal(part, images[number])
    np.testing.assert_array_equal(canvas[5:, 14:], 1)  # nothing is there


@pytest.mark.parametrize("shape", [(2, 3, 3), (2, 3, 3, 1)])
def test_gray_and_8_bit_images_are_drawn_alike(shape):
    numbers = np.arange(18).reshape(shape)
    whole, _ = drawn(plot.grid(numbers.astype("uint8"), columns=2))
    part, _ = drawn(plot.grid(numbers / 255, columns=2))
    np.testing.assert_allclose(whole, part)
    assert whole.ndim == 2


def test_columns_have_names(tmp_path):
    figure = plot.grid(np.zeros((4, 5, 5)), columns=2, labels=["$0$", "one"])
    _, axes = drawn(figure)
    assert [text.get_text() for text in axes.texts] == ["$0$", "one"]
    figure.savefig(tmp_path / "grid.png")
    assert (tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("images", "options", "message"),
    [
        (np.zeros((4, 4)), {}, r"must be \(batch, height, width\)"),
        (np.zeros((1, 4, 4, 2)), {}, r"must be \(batch, height, width\)"),
        (np.zeros((0, 4, 4)), {}, r"must be \(batch, height, width\)"),
        (np.full((1, 2, 2), -1.0), {}, "uint8, or from 0 to 1.*minimum -1"),
        (np.full((1, 2, 2), np.nan), {}, "uint8, or from 0 to 1"),
        (np.zeros((1, 2, 2)), {"columns": 0}, "`columns` must be"),
        (np.zeros((1, 2, 2)), {"labels": ["a"]}, "have a name for each"),
    ],
)
def test_refuses_what_cannot_be_drawn(images, options, message):
    with pytest.raises(ValueError, match=message):
        plot.grid(images, **options)
