import gzip

import numpy as np
import pytest
from PIL import Image

from examples import classify_images
from examples import image_models


@pytest.mark.slow
def test_vits_learn_digits_also_from_a_teacher(tmp_path):
    config = classify_images.Config(
        model="vit,resnet",
        distil="hard",
        units=32,
        num_layers=2,
        steps=300,
        folder=str(tmp_path),
    )
    found = classify_images.main(config)
    assert found.keys() == {"vit", "resnet", "vit, hard distillation"}
    # By chance one in ten is right.
    for name, (right,) in found.items():
        assert right > 0.8, name
    assert np.array(Image.open(tmp_path / "rollout.png")).std() > 0
    assert (tmp_path / "classifier" / "1" / "saved_model.pb").is_file()


def write_idx(folder, start, images, labels):
    for name, array in (("images-idx3", images), ("labels-idx1", labels)):
        header = bytes([0, 0, 8, array.ndim])
        header += b"".join(size.to_bytes(4, "big") for size in array.shape)
        path = folder / f"{start}-{name}-ubyte.gz"
        path.write_bytes(gzip.compress(header + array.tobytes()))


def test_reads_a_folder_of_idx_files(tmp_path, rng):
    for start, rows in (("train", 12), ("t10k", 5)):
        images = rng.integers(256, size=(rows, 8, 8), dtype="uint8")
        labels = np.arange(rows, dtype="uint8") % 3
        write_idx(tmp_path, start, images, labels)
    config = classify_images.Config(
        source=f"idx:{tmp_path}", num_examples=9, batch_size=4, mixup=0.8
    )
    batches, test, num_classes = classify_images.make_batches(config, seed=0)
    assert num_classes == 3
    images, labels = next(batches.as_numpy_iterator())
    assert images.shape == (4, 8, 8, 1) and labels.shape == (4, 3)
    np.testing.assert_allclose(labels.sum(axis=1), 1, rtol=1e-6)
    assert sum(len(images) for images, _ in test) == 5


def test_held_out_images_are_tested_and_not_learned(tmp_path):
    # Every image is of one colour, its own.
    images = np.arange(12, dtype="uint8")[:, None, None] * np.ones(
        (1, 8, 8), "uint8"
    )
    labels = np.arange(12, dtype="uint8") % 3
    for start, colours in (("train", images), ("t10k", images + 100)):
        write_idx(tmp_path, start, colours, labels)
    config = classify_images.Config(
        source=f"idx:{tmp_path}", held_out=4, batch_size=4, shift=0.0
    )
    batches, test, _ = classify_images.make_batches(config, seed=0)

    def colours(batches):
        return {
            int(colour)
            for images, _ in batches.as_numpy_iterator()
            for colour in np.rint(255 * images[:, 0, 0, 0])
        }

    assert colours(test) == {0, 1, 2, 3}
    assert colours(batches.take(2)) == {4, 5, 6, 7, 8, 9, 10, 11}


def test_a_mean_over_seeds_has_its_standard_error():
    assert classify_images.with_error([0.975]) == "97.50%"
    # Deviations of 1 % and -1 %: the root of 2 / (2 - 1) / 2.
    several = classify_images.with_error([0.01, 0.03], sign="+")
    assert several == "+2.00% ± 1.00% (2 seeds)"


@pytest.mark.slow
@pytest.mark.parametrize("name", image_models.MODELS)
def test_every_model_takes_about_as_many_flops(name):
    config = classify_images.Config(num_layers=4)
    model = image_models.MODELS[name](config, (28, 28, 1), 10)
    assert model.output_shape == (None, 10)
    vit = image_models.vit(config, (28, 28, 1), 10)
    ratio = image_models.mega_flops(model) / image_models.mega_flops(vit)
    assert 0.7 < ratio < 1.4
