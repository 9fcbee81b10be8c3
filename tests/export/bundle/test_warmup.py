import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.export.bundle import warmup
from keras_attn.export.bundle.warmup import read_warmup
from keras_attn.export.bundle.warmup import write_warmup


def test_requests_come_back(tmp_path):
    text = np.array([b"\xff\0a", b""], object)
    x = np.array([[1.5, 2.5]], "float32")
    path = write_warmup(
        tmp_path, [("shout", {"text": text}), ("scale", {"x": x, "y": x[:0]})]
    )
    assert path == tmp_path / "assets.extra" / "tf_serving_warmup_requests"
    shout, scale = read_warmup(tmp_path)
    assert shout[0] == "shout"
    assert shout[1]["text"].tolist() == text.tolist()
    np.testing.assert_array_equal(scale[1]["x"], x)
    assert scale[1]["y"].shape == (0, 2) and scale[1]["y"].dtype == "float32"


def test_the_file_holds_what_the_server_reads(tmp_path):
    from tensorflow_serving.apis import prediction_log_pb2

    path = write_warmup(
        tmp_path, [("shout", {"text": np.array([b"a"], object)})]
    )
    (record,) = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    log = prediction_log_pb2.PredictionLog.FromString(record)
    assert log.WhichOneof("log_type") == "predict_log"
    request = log.predict_log.request
    assert request.model_spec.signature_name == "shout"
    assert request.inputs["text"].dtype == tf.string.as_datatype_enum
    assert list(request.inputs["text"].string_val) == [b"a"]


def test_each_signature_keeps_a_share_of_what_the_server_takes(tmp_path):
    request = {"x": np.float32(1)}
    write_warmup(
        tmp_path,
        [("often", request)] * 1500 + [("rarely", request)] * 3,
    )
    names = [name for name, _ in read_warmup(tmp_path)]
    assert names == ["often"] * 997 + ["rarely"] * 3


def test_without_a_file_there_are_no_requests(tmp_path):
    assert read_warmup(tmp_path) == []


def test_without_the_package_it_says_what_to_install(tmp_path, monkeypatch):
    for name in list(sys.modules):
        if name.partition(".")[0] == "tensorflow_serving":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    with pytest.raises(
        ImportError, match=r"keras_attn\[serving\].*warmup=False"
    ):
        warmup.write_warmup(tmp_path, [])
    assert not list(tmp_path.iterdir())
