import threading

import ml_dtypes
import numpy as np
import pytest

from keras_attn.export.loader import loaded_model
from keras_attn.export.loader.c_session import Session
from keras_attn.export.loader.c_session import SessionError
from keras_attn.export.loader.worker import libraries
from tests.export.saved_modules import DTYPES
from tests.export.saved_modules import Echo


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return Echo().save(tmp_path_factory.mktemp("echo"))


@pytest.fixture(scope="module")
def session(folder):
    session = Session(folder, libraries())
    yield session
    session.close()


@pytest.fixture(scope="module")
def signatures(folder):
    return loaded_model.read_signatures(loaded_model.read_graph(folder))


def ask(session, signatures, name, inputs):
    feeds = {
        signatures[name]["inputs"][key].tensor: array
        for key, array in inputs.items()
    }
    outputs = signatures[name]["outputs"]
    arrays = session.run(feeds, [info.tensor for info in outputs.values()])
    return dict(zip(outputs, arrays, strict=True))


def values(dtype, rng):
    if dtype == "string":
        text = np.empty((3, 2), object)
        # 23 bytes and more are kept outside the 24 of a `TF_TString`.
        text[:] = [
            [b"", b"a\0b\n\xff\0"],
            [b"c" * 22, b"d" * 23],
            [b"e" * 24, b"f" * 100_000],
        ]
        return text
    numbers = rng.integers(0, 100, size=(3, 2))
    return (numbers % 2 if dtype == "bool" else numbers).astype(dtype)


def test_every_dtype_comes_back(session, signatures, rng):
    # Fortran's order, to see that memory is not copied as it lies.
    inputs = {
        dtype: np.asarray(values(dtype, rng), order="F") for dtype in DTYPES
    }
    outputs = ask(session, signatures, "echo", inputs)
    for dtype in DTYPES:
        assert outputs[dtype].dtype == inputs[dtype].dtype
        assert outputs[dtype].tolist() == inputs[dtype].tolist()
    assert outputs["bfloat16"].dtype == ml_dtypes.bfloat16


def test_empty_arrays_come_back(session, signatures, rng):
    inputs = {dtype: values(dtype, rng)[:0] for dtype in DTYPES}
    outputs = ask(session, signatures, "echo", inputs)
    assert {array.shape for array in outputs.values()} == {(0, 2)}


@pytest.mark.parametrize("text", [["abc"], [b"abc"], np.array(["abc"], object)])
def test_text_may_be_written_in_every_way(session, signatures, text):
    outputs = ask(session, signatures, "check", {"text": np.array(text)})
    assert outputs["loud"].tolist() == [b"ABC"]


@pytest.mark.parametrize(
    ("name", "inputs", "message"),
    [
        ("check", {"text": np.array(["far too long"])}, "too long"),
        (
            "check",
            {"text": np.array([1.5])},
            "takes strings. Received: float64",
        ),
        (
            "check",
            {"text": np.array([None])},
            "takes strings. Received: object",
        ),
        ("scale", {"x": np.zeros((3, 2))}, "takes float32. Received: float64"),
    ],
)
def test_refusals_have_a_code_and_a_message(
    session, signatures, name, inputs, message
):
    with pytest.raises(SessionError, match=message) as caught:
        ask(session, signatures, name, inputs)
    assert caught.value.code == 3  # INVALID_ARGUMENT
    assert caught.value.message == str(caught.value)


@pytest.mark.parametrize("name", ["nothing:0", "serving_default_x:7"])
def test_a_tensor_that_the_graph_lacks_is_refused(session, name):
    with pytest.raises(SessionError, match=f"no tensor '{name}'"):
        session.run({}, [name])


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(
        SessionError, match="Could not find SavedModel"
    ) as caught:
        Session(tmp_path, libraries())
    assert caught.value.code == 5  # NOT_FOUND


def test_many_threads_get_their_own_answers(session, signatures):
    wrong = []

    def work(number):
        x = np.full((number, 2), number, "float32")
        for _ in range(20):
            outputs = ask(session, signatures, "scale", {"x": x})
            if outputs["scaled"].tolist() != (3 * x).tolist():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_closed_session_says_so_and_closes_once(folder, signatures):
    session = Session(folder, libraries())
    session.close()
    session.close()
    with pytest.raises(SessionError, match="closed") as caught:
        ask(session, signatures, "scale", {"x": np.zeros((1, 2), "float32")})
    assert caught.value.code == 9  # FAILED_PRECONDITION


def test_closing_waits_for_answers_under_way(folder, signatures):
    session = Session(folder, libraries())
    text = np.array([b"a"] * 50_000, object)
    outcomes = []

    def work():
        try:
            outputs = ask(session, signatures, "forget", {"text": text})
            outcomes.append(int(outputs["words"].sum()))
        except SessionError as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    session.close()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 4
    assert set(outcomes) <= {50_000, 9}


def resident_megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("forget", {"text": np.array([b"a" * 3_000_000], object)}),
        ("scale", {"x": np.ones((400_000, 2), "float32")}),
    ],
)
def test_memory_of_inputs_and_outputs_is_given_back(
    session, signatures, name, inputs
):
    for _ in range(9):
        ask(session, signatures, name, inputs)
    before = resident_megabytes()
    for _ in range(30):
        ask(session, signatures, name, inputs)
    # A leak would be 90 MB, of inputs or of outputs.
    assert resident_megabytes() - before < 30
