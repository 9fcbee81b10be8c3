import base64
import json
import os
import subprocess

import numpy as np

from keras_attn.export.bundle.recorded_examples import write_examples
from keras_attn.export.bundle.sample_request import sample_request

ANSWER = {"valid": np.array([True])}


def record(tmp_path, **inputs):
    folder = tmp_path / "models" / "it's"
    (folder / "3").mkdir(parents=True)
    examples = [
        ("other", {"x": np.array([1])}, ANSWER),
        ("serving_default", inputs, ANSWER),
    ]
    write_examples(folder / "3", examples)
    return folder / "3"


def run(line, tmp_path):
    """What `curl` is given: its address and its body."""
    curl = tmp_path / "curl"
    curl.write_text(
        '#!/bin/sh\necho "$1"\n'
        'if [ "$3" = "@-" ]; then cat; else printf %s "$3"; fi\n'
    )
    curl.chmod(0o755)
    ran = subprocess.run(
        ["sh", "-c", line],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    address, _, body = ran.stdout.decode().partition("\n")
    return address, json.loads(body)


def test_a_shell_sends_the_first_example_as_it_is(tmp_path):
    text = 'it\'s "é" [MASK] $HOME `ls` \\n'.encode()
    folder = record(tmp_path, text=np.array([text], object))
    address, body = run(sample_request(folder), tmp_path)
    assert address == "http://localhost:8501/v1/models/it's:predict"
    assert body == {"inputs": {"text": [text.decode()]}}


def test_what_has_no_sign_in_it_is_asked_in_plain_words(tmp_path):
    given = {"question": b"of ab", "context": b"ab of", "other": b"ab"}
    given = {name: np.array([text], object) for name, text in given.items()}
    _, body = run(sample_request(record(tmp_path, **given)), tmp_path)
    (question,), (context,), other = body["inputs"].values()
    assert question.endswith("program?") and context.endswith("program.")
    assert other == ["ab"]


def test_an_image_is_read_from_a_file(tmp_path):
    image = bytes(range(256)) * 1000
    (tmp_path / "image.jpg").write_bytes(image)
    folder = record(
        tmp_path,
        image_bytes=np.array([b"\xff"], object),
        text=np.array([b"a <mask>"], object),
    )
    line = sample_request(folder, server="http://host:1")
    address, body = run(line, tmp_path)
    assert address.startswith("http://host:1/v1/")
    assert body["inputs"]["text"] == ["a <mask>"]
    (sent,) = body["inputs"]["image_bytes"]
    assert base64.b64decode(sent["b64"]) == image
