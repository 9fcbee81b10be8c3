import numpy as np
import pytest
from PIL import Image

from examples import generate_images
from examples import image_judges


@pytest.mark.slow
def test_both_are_trained_judged_drawn_and_one_is_exported(tmp_path, capsys):
    config = generate_images.Config(
        seeds=1,
        epochs=2,
        steps=2,
        batch_size=8,
        noise_dim=3,
        num_images=50,
        folder=str(tmp_path),
    )
    found = generate_images.main(config)
    assert found.keys() == {"attention", "no attention"}
    for values in found.values():
        assert values.shape == (1, 2)
    printed = capsys.readouterr().out
    table = printed[printed.rindex("| images |") :].splitlines()
    names, seeds, distances, ratios, named, _ = np.transpose(
        [line.strip("| ").split(" | ") for line in table[2:7]]
    )
    assert names[0] == "Gaussian pixels" and ratios[0] == "1.000"
    assert names[-2:].tolist() == list(found) and seeds[-1] == "0"
    # A judge that knows digits: real ones are near, and named.
    assert names[2] == "training images" and float(ratios[2]) < 0.25
    assert float(named[2].rstrip("%")) > 90
    for place, values in zip((3, 4), found.values(), strict=True):
        ratio = float(distances[place]) / float(distances[0])
        np.testing.assert_allclose(values[0, 0], ratio, rtol=1e-2)
    # Four steps make no digits.
    assert found["attention"][0, 0] > float(ratios[2])
    for name in ("images.png", "attention.png"):
        assert np.array(Image.open(tmp_path / name)).std() > 0
    assert (tmp_path / "generator" / "1" / "saved_model.pb").is_file()


def test_the_images_of_splits_come_at_their_own_size():
    images, labels = image_judges.arrays("validation", "test")
    assert images.shape == (500, 8, 8, 1) and labels.shape == (500,)
    assert images.min() == 0 and 0.9 < images.max() <= 1
    # 20 of each digit, then 30.
    assert (np.bincount(labels[:200]) == 20).all()
    assert (np.bincount(labels[200:]) == 30).all()


def test_an_image_shrinks_to_the_means_of_its_squares(rng):
    small = rng.uniform(size=(3, 8, 8, 1))
    large = small.repeat(4, axis=1).repeat(4, axis=2)
    noise = rng.uniform(size=large.shape)
    shrunk = image_judges.shrink(large + noise)
    np.testing.assert_allclose(image_judges.shrink(large), small)
    np.testing.assert_allclose(
        shrunk[2, 5, 3, 0], small[2, 5, 3, 0] + noise[2, 20:24, 12:16].mean()
    )


def test_gaussian_pixels_have_the_datas_means_and_no_correlation(rng):
    # Two pixels that are always equal, and one that never changes.
    images = np.zeros((40, 2, 2, 1))
    images[:, 0] = rng.uniform(0.4, 0.6, size=(40, 1, 1))
    images[:, 1, 1] = 0.3
    made = image_judges.gaussian_pixels(images, 5_000, rng)
    assert made.shape == (5_000, 2, 2, 1)
    np.testing.assert_allclose(
        made.mean(axis=0), images.mean(axis=0), atol=0.01
    )
    np.testing.assert_allclose(made.std(axis=0), images.std(axis=0), atol=0.01)
    rows = made[:, 0, :, 0].T
    assert abs(np.corrcoef(rows)[0, 1]) < 0.1
    wide = image_judges.gaussian_pixels(rng.integers(0, 2, (9, 4)), 99, rng)
    assert wide.min() == 0 and wide.max() == 1


def test_a_mean_over_seeds_has_their_deviation():
    assert generate_images.with_spread([0.125], ".3f") == "0.125"
    several = generate_images.with_spread([0.01, 0.03], ".1%", "+")
    assert several == "+2.0% ± 1.4%"
