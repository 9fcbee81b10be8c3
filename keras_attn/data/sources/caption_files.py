"""Images and the sentences that describe them."""

import json
import os
import re

import tensorflow as tf

from keras_attn.data.sources.files import existing_folder
from keras_attn.data.sources.files import read_whole

# Flickr8k writes name.jpg#0 to name.jpg#4 for the five captions of an image.
CAPTION_NUMBER = re.compile(r"#\d+$")


def captions(
    path: str | os.PathLike, images: str | os.PathLike
) -> tf.data.Dataset:
    """Give images, still encoded, each with one caption.

    The captions are in one of three forms, packed by gzip or not:

    - JSON as COCO's: `{"images": [{"id", "file_name"}, ...],
      "annotations": [{"image_id", "caption"}, ...]}`;
    - JSON of a list: `[{"image", "caption"}, ...]`;
    - lines of `image<TAB>caption`, or `image#number<TAB>caption`.

    An image with several captions gives several examples, in the order of the
    captions. Every image is looked for at once, not when it is reached.

    Args:
        path: The captions.
        images: The folder that the images' names start from.

    Returns:
        `{"image", "caption"}`, scalar strings: the file's bytes and the text.

    Raises:
        ValueError: The captions have another form.
        FileNotFoundError: An image is missing.
    """
    folder = existing_folder(images)
    try:
        text = read_whole(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{os.fspath(path)!r} must be text in UTF-8: {error}"
        ) from error
    if text.lstrip().startswith(("{", "[")):
        pairs = _from_json(os.fspath(path), text)
    else:
        pairs = _from_lines(os.fspath(path), text)
    if not pairs:
        raise ValueError(f"There is no caption in {os.fspath(path)!r}.")
    _look_for(sorted({image for image, _ in pairs}), folder)
    files = tf.constant([os.path.join(folder, image) for image, _ in pairs])
    sentences = tf.constant([sentence for _, sentence in pairs])

    def read(file, sentence):
        return {"image": tf.io.read_file(file), "caption": sentence}

    return tf.data.Dataset.from_tensor_slices((files, sentences)).map(
        read, num_parallel_calls=tf.data.AUTOTUNE
    )


def _from_json(path, text):
    try:
        content = json.loads(text)
        if isinstance(content, list):
            pairs = [(entry["image"], entry["caption"]) for entry in content]
        else:
            files = {
                image["id"]: image["file_name"] for image in content["images"]
            }
            pairs = [
                (files[note["image_id"]], note["caption"])
                for note in content["annotations"]
            ]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path!r} is not JSON of captions "
            f"({type(error).__name__}: {error}). Wanted: a list of "
            '{"image", "caption"}, or COCO\'s "images" with "id" and '
            '"file_name" and "annotations" with "image_id" and "caption".'
        ) from error
    for pair in pairs:
        if not all(isinstance(part, str) for part in pair):
            raise ValueError(
                "An image's name and its caption must be strings. Received: "
                f"{pair} in {path!r}"
            )
    return pairs


def _from_lines(path, text):
    pairs = []
    # `splitlines` would also split at characters that a caption may hold.
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r")
        if not line:
            continue
        image, tab, sentence = line.partition("\t")
        if not tab:
            raise ValueError(
                f"{path!r}, line {number}: an image's name, a tab and a "
                f"caption are wanted. Received: {line[:80]!r}"
            )
        pairs.append((CAPTION_NUMBER.sub("", image), sentence))
    return pairs


def _look_for(names, folder):
    # One listing for each folder: asking for each file is slow far away.
    there = {}
    for part in {os.path.dirname(name) for name in names}:
        inside = os.path.join(folder, part)
        listed = (
            tf.io.gfile.listdir(inside) if tf.io.gfile.isdir(inside) else []
        )
        there[part] = set(listed)
    missing = [
        name
        for name in names
        if os.path.basename(name) not in there[os.path.dirname(name)]
    ]
    if missing:
        raise FileNotFoundError(
            f"{len(missing)} of {len(names)} images are not in {folder!r}; the "
            f"first is {missing[0]!r}. Add them, or remove their captions."
        )
