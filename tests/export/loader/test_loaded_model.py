import shutil

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_attn.export.loader.c_session import SessionError
from keras_attn.export.loader.loaded_model import LoadedModel
from keras_attn.export.loader.loaded_model import TensorInfo
from tests.export.saved_modules import Echo


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return Echo().save(tmp_path_factory.mktemp("echo"))


@pytest.fixture(scope="module")
def model(folder):
    model = LoadedModel(folder)
    yield model
    model.close()


def test_signatures_tell_tensors_dtypes_and_shapes(model):
    assert sorted(model.signatures) == ["check", "echo", "forget", "scale"]
    (info,) = model.signatures["check"]["inputs"].values()
    assert info == TensorInfo("check_text:0", "string", (None,))
    assert model.signatures["scale"]["outputs"]["scaled"][1:] == (
        "float32",
        (None, 2),
    )
    assert model.signatures["echo"]["inputs"]["bfloat16"].dtype == "bfloat16"


def test_it_answers_by_name(model):
    x = np.array([[1.0, 2.0]], "float32")
    outputs = model.run("scale", {"x": x})
    assert list(outputs) == ["scaled"]
    np.testing.assert_array_equal(outputs["scaled"], [[3.0, 6.0]])
    assert model.run("check", {"text": ["é"]})["loud"].tolist() == [
        "é".encode()
    ]


@pytest.mark.parametrize(
    ("name", "inputs", "complaint"),
    [
        ("shout", {}, r"has no signature 'shout'. It has: \['check', 'echo'"),
        ("scale", {}, r"takes the inputs \['x'\]. Received: \[\]"),
        ("scale", {"x": 0, "y": 0}, r"Received: \['x', 'y'\]"),
        ("scale", {"x": [[1.0, 2.0]]}, "'x' of .* takes float32. .* float64"),
        ("scale", {"x": ["a"]}, "takes float32. Received: <U1"),
        ("check", {"text": [1]}, "takes string. Received: int64"),
        ("check", {"text": "a"}, r"shape \(None,\). Received: \(\)"),
        ("scale", {"x": np.zeros((2, 3), "float32")}, r"Received: \(2, 3\)"),
    ],
)
def test_a_request_out_of_form_is_refused(model, name, inputs, complaint):
    with pytest.raises(ValueError, match=complaint):
        model.run(name, inputs)


def test_what_the_graph_refuses_has_its_code(model):
    with pytest.raises(SessionError, match="too long") as caught:
        model.run("check", {"text": ["far too long"]})
    assert caught.value.code == 3


def test_compiling_stays_allowed_in_this_process(model):
    double = tf.function(lambda x: 2 * x, jit_compile=True)
    assert double(tf.constant(3.0)) == 6.0


@pytest.mark.parametrize(
    ("missing", "complaint"),
    [
        ("saved_model.pb", "no saved_model.pb"),
        ("variables", "no variables/variables.index"),
    ],
)
def test_a_folder_that_lacks_a_part_is_refused(
    folder, tmp_path, missing, complaint
):
    copy = shutil.copytree(folder, tmp_path / "1")
    (copy / missing).rename(tmp_path / "away")
    with pytest.raises(FileNotFoundError, match=complaint):
        LoadedModel(copy)


@pytest.mark.parametrize("size", [0, 1000])
def test_a_file_cut_short_is_refused(folder, tmp_path, size):
    copy = shutil.copytree(folder, tmp_path / "1")
    path = copy / "saved_model.pb"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match=r"saved_model.pb is damaged"):
        LoadedModel(copy)


def test_variables_cut_short_are_refused(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "1")
    (copy / "variables" / "variables.index").write_bytes(b"")
    with pytest.raises(SessionError):
        LoadedModel(copy)


class Words(tf.Module):
    """Says whether a file has a word."""

    def __init__(self, path):
        super().__init__()
        line, word = (
            tf.lookup.TextFileIndex.LINE_NUMBER,
            (tf.lookup.TextFileIndex.WHOLE_LINE),
        )
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(
                str(path), tf.string, word, tf.int64, line
            ),
            default_value=-1,
        )

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def find(self, text):
        return {"line": self.table.lookup(text)}


@pytest.mark.parametrize("name", ["../../{}", "{root}/{}", "a/../../../{}"])
def test_a_model_that_names_a_file_outside_of_its_folder_is_refused(
    name, tmp_path
):
    words = tmp_path / "words.txt"
    words.write_text("a\nb\n")
    model = Words(words)
    tf.saved_model.save(model, tmp_path / "1", {"find": model.find})
    loaded = LoadedModel(tmp_path / "1")
    request = {"text": np.array([b"b", b"secret"], object)}
    assert loaded.run("find", request)["line"].tolist() == [1, -1]
    loaded.close()
    (tmp_path / "password.txt").write_text("secret\n")
    path = tmp_path / "1" / "saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    (asset,) = saved.meta_graphs[0].asset_file_def
    asset.filename = name.format("password.txt", root=tmp_path)
    path.write_bytes(saved.SerializeToString())
    with pytest.raises(ValueError, match="names a file outside of its folder"):
        LoadedModel(tmp_path / "1")
