"""What holds for every source that reads files."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.sources.arrays import arrays
from keras_attn.data.sources.caption_files import captions
from keras_attn.data.sources.idx_files import idx
from keras_attn.data.sources.image_files import image_folder
from keras_attn.data.sources.lines import parallel_lines
from keras_attn.data.sources.lines import text_documents
from keras_attn.data.sources.lines import text_lines
from keras_attn.data.sources.tfds_folders import tfds_image_folder
from keras_attn.data.sources.tfds_folders import tfds_translate_folder
from keras_attn.data.sources.tfds_names import from_tfds
from keras_attn.data.sources.tsv import tab_separated
from tests.data.source_files import idx_bytes
from tests.data.source_files import pack
from tests.data.source_files import tfds_builders
from tests.data.source_files import write_image

COUNT = 7  # odd, so that two workers get different numbers
LINES = "".join(f"line {k}\n" for k in range(COUNT))
PAIRS = "".join(f"source {k}\ttarget {k}\n" for k in range(COUNT))


def tab_separated_source(folder):
    # Two files, and the cut of the test falls into the second.
    lines = PAIRS.splitlines(keepends=True)
    first = folder / "first.tsv"
    first.write_text("".join(lines[:2]))
    second = pack(folder / "second.tsv.gz", "".join(lines[2:]).encode())
    return tab_separated([first, second])


def parallel_source(folder):
    (folder / "a").write_text(LINES)
    (folder / "b").write_text(LINES)
    return parallel_lines(folder / "a", folder / "b")


def line_source(folder):
    (folder / "a").write_text(LINES)
    return text_lines(folder / "a")


def document_source(folder):
    paths = [folder / str(k) for k in range(COUNT)]
    for path in paths:
        path.write_text(path.name)
    return text_documents(paths)


def write_images(folder):
    return [
        write_image(folder / f"class_{k % 3}" / f"{k}.png", 20 * k)
        for k in range(COUNT)
    ]


def image_source(folder):
    write_images(folder)
    return image_folder(folder)


def caption_source(folder):
    images = write_images(folder)
    lines = [f"{image}\tshade {k}\n" for k, image in enumerate(images)]
    (folder / "captions.tsv").write_text("".join(lines))
    return captions(folder / "captions.tsv", folder)


def idx_source(folder):
    labels = np.arange(COUNT, dtype="uint8")
    images = np.full((COUNT, 2, 3), labels[:, np.newaxis, np.newaxis])
    return idx(
        pack(folder / "images", idx_bytes(images)),
        pack(folder / "labels", idx_bytes(labels)),
    )


def array_source(folder):
    del folder
    return arrays(x=np.arange(COUNT))


def tfds_source(folder):
    tfds_builders()
    manual = folder / "manual"
    manual.mkdir(exist_ok=True)
    (manual / "pairs.tsv").write_text(PAIRS)
    return from_tfds("local_pairs", data_dir=folder / "data", manual_dir=manual)


def tfds_image_source(folder):
    tfds_builders()
    manual = folder / "manual"
    for k in range(COUNT):
        write_image(manual / f"light_{k}.png", 20 * k)
    return from_tfds(
        "local_images/any_size", data_dir=folder / "data", manual_dir=manual
    )


def tfds_translate_folder_source(folder):
    root = folder / "texts"
    root.mkdir(exist_ok=True)
    for language in ("en", "fr"):
        (root / f"{language}.train.txt").write_text(LINES)
    return tfds_translate_folder(root, "en", "fr")


def tfds_image_folder_source(folder):
    write_images(folder / "root" / "train")
    return tfds_image_folder(folder / "root")


SOURCES = {
    "tab_separated": tab_separated_source,
    "parallel_lines": parallel_source,
    "text_lines": line_source,
    "text_documents": document_source,
    "image_folder": image_source,
    "captions": caption_source,
    "idx": idx_source,
    "arrays": array_source,
    "from_tfds": tfds_source,
    "from_tfds of images": tfds_image_source,
    "tfds_translate_folder": tfds_translate_folder_source,
    "tfds_image_folder": tfds_image_folder_source,
}


@pytest.fixture(params=SOURCES)
def make(request, tmp_path):
    return lambda: SOURCES[request.param](tmp_path)


def rows(examples):
    """What the examples hold, in a form that can be compared."""
    return [
        tuple(
            (name, np.asarray(value).tobytes() if name == "image" else value)
            for name, value in sorted(row.items())
        )
        for row in tf.data.Dataset.as_numpy_iterator(examples)
    ]


def test_every_reading_gives_the_same_different_examples(make):
    examples = make()
    assert isinstance(examples.element_spec, dict)
    first = rows(examples)
    assert len(set(first)) == len(first) == COUNT
    assert rows(examples) == first
    assert rows(make()) == first


def test_two_workers_share_the_examples(make):
    shares = [rows(make().shard(2, worker)) for worker in range(2)]
    assert [len(share) for share in shares] == [COUNT // 2 + 1, COUNT // 2]
    assert set(shares[0]) | set(shares[1]) == set(rows(make()))


def test_an_interrupted_iterator_resumes_at_the_same_example(make, tmp_path):
    wanted = rows(make())
    interrupted = iter(make())
    for _ in range(4):
        next(interrupted)
    saved = tf.train.Checkpoint(iterator=interrupted)
    path = saved.save(str(tmp_path / "checkpoint"))
    resumed = iter(make())
    tf.train.Checkpoint(iterator=resumed).restore(path).assert_consumed()
    rest = [
        {name: value.numpy() for name, value in row.items()} for row in resumed
    ]
    assert len(rest) == COUNT - 4
    for row, same in zip(rest, wanted[4:], strict=True):
        for name, value in same:
            content = row[name]
            if name == "image":
                content = np.asarray(content).tobytes()
            assert content == value
