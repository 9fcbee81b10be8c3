import keras
import numpy as np
import pytest

from keras_attn.export import export_model
from keras_attn.export import verify
from keras_attn.export.verify import half_precision


def dense(dtype):
    image = keras.Input((5,), name="x")
    return keras.Model(image, keras.layers.Dense(3, dtype=dtype)(image))


@pytest.mark.parametrize(
    ("dtype", "most"),
    [
        ("float32", None),
        ("mixed_bfloat16", None),
        ("bfloat16", 2**-4),
        ("float16", 2**-7),
    ],
)
def test_the_weights_tell_how_far_answers_may_be_apart(dtype, most, tmp_path):
    path = export_model(dense(dtype), tmp_path, verify=False, warmup=False)
    assert half_precision.half_tolerance(path) == most


def test_what_the_loader_says_it_says_again(tmp_path):
    path = export_model(dense("bfloat16"), tmp_path, warmup=False)
    verify(path, verbose=False)


TEXT = {
    "text": np.array([b"a b"], object),
    "valid": np.array([True]),
    "score": np.array([-2.5], "float32"),
}


@pytest.mark.parametrize(
    ("served", "fits"),
    [
        ({}, True),
        ({"score": np.array([-2.51], "float32")}, True),
        ({"score": np.array([-3.5], "float32")}, False),
        # Where two tokens are almost equally likely, all that follows differs.
        (
            {
                "text": np.array([b"a c"], object),
                "score": np.array([-7], "float32"),
            },
            True,
        ),
        (
            {"text": np.array([b""], object), "valid": np.array([False])},
            False,
        ),
    ],
)
def test_only_rounding_is_explained(served, fits, monkeypatch):
    signatures = {"generate": None}
    results = [{"arrays": list({**TEXT, **served}.values())}]
    written = []
    for place, name, value in (
        (half_precision, "half_tolerance", lambda folder: 2**-4),
        (
            half_precision,
            "read_examples",
            lambda folder: [("generate", {}, TEXT)],
        ),
        (
            half_precision,
            "write_examples",
            lambda *given: written.append(given),
        ),
        (half_precision.worker, "run_each", lambda *given, timeout: results),
        (half_precision.loaded_model, "read_graph", lambda folder: None),
        (
            half_precision.loaded_model,
            "read_signatures",
            lambda graph: signatures,
        ),
        (half_precision.loaded_model, "request", lambda *given: given),
    ):
        monkeypatch.setattr(place, name, value)
    if not fits:
        with pytest.raises(
            ValueError, match=r"'generate'.*than half precision"
        ):
            half_precision.record_served_answers("folder")
        assert not written
        return
    half_precision.record_served_answers("folder")
    assert written == [("folder", [("generate", {}, {**TEXT, **served})])]


def test_a_request_that_fails_is_told(monkeypatch, tmp_path):
    path = export_model(dense("float16"), tmp_path, warmup=False, verify=False)
    monkeypatch.setattr(
        half_precision.worker,
        "run_each",
        lambda folder, requests, timeout: (
            [{"message": "no kernel"}] * len(requests)
        ),
    )
    with pytest.raises(ValueError, match="no kernel"):
        half_precision.record_served_answers(path)
