import numpy as np
import pytest

from keras_attn.data.sources.arrays import arrays


def test_row_k_of_each_array_is_example_k(rng):
    sequence = rng.normal(size=(3, 4, 5)).astype("float32")
    target = rng.normal(size=(3, 2)).astype("float32")
    examples = list(arrays(sequence=sequence, target=target))
    assert len(examples) == 3
    for k, example in enumerate(examples):
        np.testing.assert_array_equal(example["sequence"], sequence[k])
        np.testing.assert_array_equal(example["target"], target[k])


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("float64", "float32"),
        ("int64", "int32"),
        ("uint64", "int32"),
        ("uint8", "uint8"),
        ("float16", "float16"),
        ("int16", "int16"),
        ("bool", "bool"),
    ],
)
def test_numbers_have_at_most_32_bits(given, wanted):
    examples = arrays(x=np.array([[1, 0], [1, 1]], given))
    assert examples.element_spec["x"].dtype == wanted
    assert examples.element_spec["x"].shape == (2,)
    assert [
        row.tolist()
        for row in examples.map(lambda row: row["x"]).as_numpy_iterator()
    ] == [[1, 0], [1, 1]]


def test_lists_of_text_and_numbers_are_arrays():
    examples = arrays(text=["où", "là"], label=[2, -1])
    assert [
        (row["text"].decode(), row["label"].dtype, int(row["label"]))
        for row in examples.as_numpy_iterator()
    ] == [("où", "int32", 2), ("là", "int32", -1)]


def test_wrong_columns_get_a_sentence():
    with pytest.raises(ValueError, match="No array"):
        arrays()
    with pytest.raises(ValueError, match=r"'x': 2, 'y': 3"):
        arrays(x=[1, 2], y=[1, 2, 3])
    with pytest.raises(ValueError, match="`x` must hold a row"):
        arrays(x=4)
    with pytest.raises(ValueError, match="rows of `x` must have one shape"):
        arrays(x=[[1], [2, 3]])
    with pytest.raises(
        ValueError, match=r"32 bits.*`x`.* from -1 to 2147483648"
    ):
        arrays(x=[-1, 2**31])
    with pytest.raises(ValueError, match=r"32 bits.*-2147483649 to 0"):
        arrays(x=[0, -(2**31) - 1])
    with pytest.raises(ValueError, match="32 bits"):
        arrays(x=np.array([2**63], "uint64"))


def test_arrays_without_rows_give_nothing():
    assert list(arrays(x=np.zeros((0, 3), "int64"))) == []
