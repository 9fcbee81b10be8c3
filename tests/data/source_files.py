"""Small real files of every kind that the sources read."""

import functools
import gzip
import json
import struct

import numpy as np
import tensorflow as tf


def write_image(path, shade, *, size=(4, 5)):
    """Write an image of one shade, encoded as the path's ending says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = tf.fill((*size, 3), tf.constant(shade, tf.uint8))
    is_png = path.suffix.lower() == ".png"
    encode = tf.io.encode_png if is_png else tf.io.encode_jpeg
    tf.io.write_file(str(path), encode(pixels))
    return path


def idx_bytes(values, *, kind=8):
    """Bytes of an IDX file: header, then the values of a NumPy array."""
    start = struct.pack(">BBBB", 0, 0, kind, values.ndim)
    sizes = struct.pack(f">{values.ndim}I", *values.shape)
    return start + sizes + values.tobytes()


def pack(path, content):
    path.write_bytes(gzip.compress(content))
    return path


def write_json(path, content):
    path.write_text(json.dumps(content))
    return path


@functools.cache
def tfds_builders():
    """Define builders that read `manual_dir`; TFDS finds them by name."""
    import tensorflow_datasets as tfds

    class Local(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")
        MANUAL_DOWNLOAD_INSTRUCTIONS = "Write the file for the test."

        def _split_generators(self, downloads):
            folder = downloads.manual_dir
            return {"train": self._generate_examples(folder)}

        def _describe(self, features, keys):
            return tfds.core.DatasetInfo(
                builder=self, features=features, supervised_keys=keys
            )

    class LocalPairs(Local):
        # Not in the alphabet's order, which a dictionary of features is in.
        def _info(self):
            languages = tfds.features.Translation(languages=["pt", "en"])
            return self._describe(languages, ("pt", "en"))

        def _generate_examples(self, folder):
            lines = (folder / "pairs.tsv").read_text().splitlines()
            for number, line in enumerate(lines):
                portuguese, english = line.split("\t")
                yield number, {"pt": portuguese, "en": english}

    class LocalImages(Local):
        BUILDER_CONFIGS = [  # noqa: RUF012
            tfds.core.BuilderConfig(name="sized"),
            tfds.core.BuilderConfig(name="any_size"),
        ]

        def _info(self):
            sized = self.builder_config.name == "sized"
            shape = (4, 5, 3) if sized else (None, None, 3)
            features = {
                "image": tfds.features.Image(shape=shape),
                "label": tfds.features.ClassLabel(names=["dark", "light"]),
                "file": tfds.features.Text(),
            }
            keys = ("image", "label")
            return self._describe(tfds.features.FeaturesDict(features), keys)

        def _generate_examples(self, folder):
            for path in sorted(folder.glob("*.png")):
                label = path.name.partition("_")[0]
                yield (
                    path.name,
                    {"image": path, "label": label, "file": path.name},
                )

    class LocalReviews(Local):
        BUILDER_CONFIGS = [  # noqa: RUF012
            tfds.core.BuilderConfig(name="supervised"),
            tfds.core.BuilderConfig(name="plain"),
            tfds.core.BuilderConfig(name="nested"),
        ]

        def _info(self):
            features = {
                "review": tfds.features.Text(),
                "stars": tfds.features.ClassLabel(num_classes=5),
                "label": tfds.features.Scalar(np.int64),
            }
            keys = {
                "supervised": ("review", "stars"),
                "plain": None,
                "nested": ({"review": "review"}, "stars"),
            }[self.builder_config.name]
            return self._describe(tfds.features.FeaturesDict(features), keys)

        def _generate_examples(self, folder):
            del folder
            for stars in range(3):
                yield (
                    stars,
                    {"review": "go" * stars, "stars": stars, "label": 7},
                )

    class LocalOutage(Local):
        def _info(self):
            text = {"text": tfds.features.Text()}
            return self._describe(tfds.features.FeaturesDict(text), None)

        def _split_generators(self, downloads):
            import requests

            raise requests.exceptions.ConnectionError("no route to host")

        def _generate_examples(self):
            raise AssertionError

    return LocalPairs, LocalImages, LocalReviews, LocalOutage
