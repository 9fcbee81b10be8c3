import gzip
import json

import pytest
import tensorflow as tf

from keras_attn.data.sources.caption_files import captions
from tests.data.source_files import write_image
from tests.data.source_files import write_json

COCO = {
    "images": [
        {"id": 30, "file_name": "part/b.png"},
        {"id": 7, "file_name": "a.jpg"},
    ],
    "annotations": [
        {"image_id": 7, "caption": "un été"},
        {"image_id": 30, "caption": "two"},
        {"image_id": 7, "caption": "three"},
    ],
}
LIST = [
    {"image": "a.jpg", "caption": "un été"},
    {"image": "part/b.png", "caption": "two"},
    {"image": "a.jpg", "caption": "three"},
]
TABS = "a.jpg\tun été\npart/b.png\ttwo\na.jpg\tthree\n"
FLICKR = "a.jpg#0\tun été\r\npart/b.png#0\ttwo\r\n\r\na.jpg#12\tthree\r\n"


@pytest.fixture
def images(tmp_path):
    write_image(tmp_path / "images" / "a.jpg", 40)
    write_image(tmp_path / "images" / "part" / "b.png", 80)
    return tmp_path / "images"


@pytest.mark.parametrize(
    "text",
    [json.dumps(COCO), json.dumps(LIST), TABS, FLICKR, "\ufeff" + TABS],
    ids=["coco", "list", "tabs", "flickr", "mark"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_every_form_gives_each_caption_with_its_image(
    tmp_path, images, text, packed
):
    path = tmp_path / "captions"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    examples = captions(path, images)
    spec = tf.TensorSpec((), "string")
    assert examples.element_spec == {"image": spec, "caption": spec}
    assert examples.cardinality() == 3
    a = (images / "a.jpg").read_bytes()
    b = (images / "part" / "b.png").read_bytes()
    assert [
        (row["image"], row["caption"].decode())
        for row in examples.as_numpy_iterator()
    ] == [(a, "un été"), (b, "two"), (a, "three")]


def test_images_may_have_their_whole_path(tmp_path, images):
    whole = str(images / "a.jpg")
    path = write_json(tmp_path / "c", [{"image": whole, "caption": "x"}])
    (tmp_path / "elsewhere").mkdir()
    (example,) = captions(path, tmp_path / "elsewhere").as_numpy_iterator()
    assert example["image"] == (images / "a.jpg").read_bytes()


def test_a_caption_may_hold_every_character_but_a_line_feed(tmp_path, images):
    path = tmp_path / "captions.tsv"
    path.write_text('a.jpg\t#1 a\u2028b\tc "d\n', "utf-8")
    (example,) = captions(path, images).as_numpy_iterator()
    assert example["caption"].decode() == '#1 a\u2028b\tc "d'


def test_missing_images_are_named_at_once(tmp_path, images):
    path = tmp_path / "captions.tsv"
    path.write_text(TABS + "z.jpg\tx\nnowhere/b.png\ty\nz.jpg\tx\n")
    match = r"2 of 4 images are not in .*; the first is 'nowhere/b.png'"
    with pytest.raises(FileNotFoundError, match=match):
        captions(path, images)
    with pytest.raises(NotADirectoryError, match="not_there"):
        captions(path, tmp_path / "not_there")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("a.jpg\tone\na.jpg,two\n", r"line 2: .*Received: 'a.jpg,two'"),
        ("\n", "There is no caption"),
        ("[]", "There is no caption"),
        ("[1", "JSONDecodeError"),
        ('{"images": []}', "KeyError: 'annotations'"),
        ('[{"image": "a.jpg"}]', "KeyError: 'caption'"),
        ('["a.jpg"]', "not JSON of captions"),
        ('[{"image": "a.jpg", "caption": ["x"]}]', "must be strings"),
        (
            '{"images": [], "annotations": [{"image_id": 3, "caption": "x"}]}',
            "KeyError: 3",
        ),
    ],
)
def test_captions_of_another_form_are_refused(
    tmp_path, images, content, complaint
):
    path = tmp_path / "captions"
    path.write_text(content)
    with pytest.raises(ValueError, match=complaint) as caught:
        captions(path, images)
    assert str(path) in str(caught.value)


def test_text_that_is_not_utf_8_is_refused(tmp_path, images):
    path = tmp_path / "captions"
    path.write_bytes("a.jpg\tété\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"captions' must be text in UTF-8"):
        captions(path, images)
