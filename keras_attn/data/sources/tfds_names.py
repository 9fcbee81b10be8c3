"""Datasets of tensorflow-datasets, under the names of this house."""

import os
import re
import types
import urllib.error
from collections.abc import Mapping

import tensorflow as tf

from keras_attn.extras import require

PREFIX = "tfds:"
CATALOGUE = "https://www.tensorflow.org/datasets/catalog/overview"


def from_tfds(
    name: str,
    *,
    split: str = "train",
    data_dir: str | os.PathLike | None = None,
    manual_dir: str | os.PathLike | None = None,
    features: Mapping[str, str] | None = None,
) -> tf.data.Dataset:
    """Give a dataset of TFDS, downloaded and prepared if it is not yet.

    What TFDS calls the supervised keys of a dataset gets the names of this
    house: two texts are "source" and "target", an image or a text with a class
    is "image" or "text" with "label". A dataset without such keys keeps the
    names it has; `features` picks from it.

    Args:
        name: Its name in TFDS, with or without `tfds:` before it, such as
            `"tfds:ted_hrlr_translate/pt_to_en"`.
        split: Its part, in TFDS' words, such as `"train[:90%]"`.
        data_dir: Where prepared datasets are; by default TFDS' own folder.
        manual_dir: Where files are that TFDS cannot download.
        features: The name in this house of each feature that is wanted, such
            as `{"text": "document"}`.

    Returns:
        A dictionary for each example, always in the same order. Labels are
        int32; images are uint8 (height, width, channels) if TFDS knows their
        size, otherwise the encoded bytes, which a shuffle buffer can hold.
    """
    tfds = require("tensorflow_datasets", extra="data")
    name = name.removeprefix(PREFIX)
    data_dir = None if data_dir is None else os.fspath(data_dir)
    try:
        builder = tfds.builder(name, data_dir=data_dir)
    except ValueError as error:
        raise _unknown_name(name, error) from error
    _prepare(tfds, builder, manual_dir)
    return read_builder(tfds, builder, split=split, features=features)


def read_builder(
    tfds: types.ModuleType,
    builder,
    *,
    split: str,
    features: Mapping[str, str] | None = None,
) -> tf.data.Dataset:
    """Read a prepared TFDS builder under the names of this house.

    Args:
        tfds: The module.
        builder: A `tfds.core.DatasetBuilder`.
        split: As in `from_tfds`.
        features: As in `from_tfds`.

    Returns:
        As `from_tfds`.
    """
    known = builder.info.features
    if features is None:
        features = _supervised(tfds, builder.info)
    missing = sorted(set(features.values()) - set(known))
    if missing:
        raise ValueError(
            f"{builder.info.full_name} has the features {sorted(known)}. "
            f"Received: features={dict(features)}, of which {missing} are not "
            "among them."
        )
    encoded = {
        feature: tfds.decode.SkipDecoding()
        for feature in features.values()
        if type(known[feature]) is tfds.features.Image
        and None in known[feature].shape
    }
    try:
        # A cache in memory would go into every checkpoint of an iterator;
        # caching and prefetching belong to the pipeline's end.
        examples = builder.as_dataset(
            split=split,
            shuffle_files=False,
            decoders=encoded or None,
            read_config=tfds.ReadConfig(
                try_autocache=False, skip_prefetch=True
            ),
        )
    except ValueError as error:
        raise ValueError(
            f"{builder.info.full_name} has the splits "
            f"{sorted(builder.info.splits)}. Received: split={split!r}. TFDS "
            f"said: {_first_line(error)}"
        ) from error

    def rename(example):
        if features:
            example = {ours: example[its] for ours, its in features.items()}
        label = example.get("label")
        if tf.is_tensor(label) and label.dtype.is_integer:
            example = {**example, "label": tf.cast(label, tf.int32)}
        return example

    return examples.map(rename, num_parallel_calls=tf.data.AUTOTUNE)


def _supervised(tfds, info):
    keys = info.supervised_keys or ()
    # TFDS also allows a third key, for weights, and dictionaries of keys.
    if len(keys) != 2 or not all(isinstance(key, str) for key in keys):
        return {}
    text, image = tfds.features.Text, tfds.features.Image
    label = tfds.features.ClassLabel
    names = {
        (text, text): ("source", "target"),
        (text, label): ("text", "label"),
        (image, label): ("image", "label"),
    }.get(tuple(type(info.features[key]) for key in keys))
    return dict(zip(names, keys, strict=True)) if names else {}


def _prepare(tfds, builder, manual_dir):
    requests = require("requests", extra="data")
    name = builder.info.full_name
    manual = None if manual_dir is None else os.fspath(manual_dir)
    needs_files = builder.MANUAL_DOWNLOAD_INSTRUCTIONS
    try:
        builder.download_and_prepare(
            download_config=tfds.download.DownloadConfig(manual_dir=manual)
        )
    except (AssertionError, FileNotFoundError) as error:
        if not needs_files:
            raise
        raise FileNotFoundError(
            f"{name} needs files that TFDS cannot download. Received: "
            f"manual_dir={manual!r}. TFDS said: {_first_line(error)} What "
            f"belongs into `manual_dir`: {needs_files.strip()}"
        ) from error
    except (
        requests.exceptions.RequestException,
        urllib.error.URLError,
        tfds.download.DownloadError,
    ) as error:
        raise ConnectionError(
            f"{name} could not be downloaded: {_first_line(error)} Without a "
            "network, prepare it on another machine, copy the folder "
            f"{builder.data_dir!r} and pass `data_dir`."
        ) from error


def _unknown_name(name, error):
    # TFDS' own message goes on with the names of all its datasets.
    said = [_first_line(error)]
    said += re.findall(r"Did you mean: .* -> (\w+) \?", str(error))
    return ValueError(
        f"TFDS cannot find {name!r}. It said: {' Did you mean: '.join(said)} "
        f"The names are listed at {CATALOGUE}"
    )


def _first_line(error):
    return str(error).strip().partition("\n")[0]
