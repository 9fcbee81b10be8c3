import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.pipeline.lengths import LengthCount
from keras_attn.data.pipeline.lengths import check_lengths
from keras_attn.data.pipeline.lengths import count_by_length
from keras_attn.data.pipeline.lengths import count_too_long
from keras_attn.data.pipeline.lengths import find_sequences
from keras_attn.data.pipeline.lengths import fit
from keras_attn.data.pipeline.lengths import longest


def examples(*lengths):
    """Two sequences, the labels one shorter, and a number."""
    numbers = tf.data.Dataset.from_tensor_slices(tf.constant(lengths, tf.int32))
    return numbers.map(lambda n: ({"a": tf.range(n), "b": n}, tf.range(n - 1)))


def kept(dataset):
    return [inputs["a"].tolist() for inputs, _ in dataset.as_numpy_iterator()]


def reports(capfd):
    lines = capfd.readouterr().err.splitlines()
    return [line for line in lines if line.startswith("keras_attn.data")]


def test_examples_that_fit_pass_in_order(capfd):
    for too_long in ("error", "drop", "truncate"):
        fitted = fit(examples(3, 1, 2), 3, too_long)
        assert kept(fitted) == [[0, 1, 2], [0], [0, 1]]
        assert reports(capfd) == []
        assert fitted.element_spec == examples(1).element_spec


def test_by_default_a_long_example_is_an_error_that_says_what_to_do():
    iterator = iter(fit(examples(3, 5, 2), 4, "error"))
    next(iterator)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"longer than 4, .*`lengths`.* drop .* truncate .*length.*5",
    ):
        next(iterator)


@pytest.mark.parametrize(
    ("lengths", "sentence"),
    [
        ((5, 3, 9, 2), "2 of 4 examples were longer than 4 and were left out."),
        ((5, 3), "1 of 2 examples was longer than 4 and was left out."),
        ((6,), "1 of 1 examples was longer than 4 and was left out."),
    ],
    ids=str,
)
def test_left_out_examples_are_counted_in_every_pass(lengths, sentence, capfd):
    fitted = fit(examples(*lengths), 4, "drop")
    for _ in range(2):
        assert kept(fitted) == [list(range(n)) for n in lengths if n < 5]
        assert reports(capfd) == [f"keras_attn.data: {sentence}"]


def test_cut_examples_keep_their_first_tokens_and_are_counted(capfd):
    fitted = fit(examples(5, 3, 9, 2), 4, "truncate")
    assert fitted.cardinality() == 4
    assert [
        (inputs["a"].tolist(), inputs["b"], labels.tolist())
        for inputs, labels in fitted.as_numpy_iterator()
    ] == [
        ([0, 1, 2, 3], 5, [0, 1, 2, 3]),
        ([0, 1, 2], 3, [0, 1]),
        ([0, 1, 2, 3], 9, [0, 1, 2, 3]),
        ([0, 1], 2, [0]),
    ]
    assert reports(capfd) == [
        "keras_attn.data: 2 of 4 examples were longer than 4 and were "
        "truncated."
    ]


def test_an_unfinished_pass_reports_nothing(capfd):
    fitted = fit(examples(*[9] * 50), 4, "truncate")
    assert kept(fitted.take(2)) == [[0, 1, 2, 3]] * 2
    assert reports(capfd) == []


@pytest.mark.parametrize("too_long", ["drop", "truncate"])
def test_a_resumed_pass_reports_all_of_it(too_long, tmp_path, capfd):
    fitted = fit(examples(5, 3, 9, 2, 1), 4, too_long)
    iterator = iter(fitted)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "saved"))
    resumed = iter(fitted)
    tf.train.Checkpoint(iterator=resumed).read(path).assert_consumed()
    rest = [inputs["a"].numpy().tolist() for inputs, _ in resumed]
    assert rest == kept(fitted)[1:]
    fate = {"drop": "left out", "truncate": "truncated"}[too_long]
    assert set(reports(capfd)) == {
        f"keras_attn.data: 2 of 5 examples were longer than 4 and were {fate}."
    }


def test_numbers_of_long_examples_come_in_python():
    assert count_too_long(examples(5, 3, 9, 2), [2, 4]) == LengthCount(
        examples=4, too_long=2, limit=4, longest=9
    )
    assert count_too_long(examples(1).take(0), 4) == LengthCount(0, 0, 4, 0)


def test_examples_of_each_length_are_counted():
    assert count_by_length(examples(5, 3, 9, 2, 4, 1), (2, 4)) == [2, 2, 2]
    assert count_by_length(examples(1).take(0), (4,)) == [0, 0]
    assert count_by_length(tf.data.Dataset.range(3), None) == [3, 0]


def test_labels_count_as_much_as_inputs():
    pairs = tf.data.Dataset.from_tensors(2).map(
        lambda n: (tf.range(n), tf.ones([n + 3, 2]))
    )
    assert count_too_long(pairs, 4).longest == 5
    is_sequence = find_sequences(pairs.element_spec)
    (length,) = pairs.map(longest(is_sequence))
    assert length == 5


def test_a_sequence_has_an_unknown_first_axis():
    spec = {
        "a": tf.TensorSpec((None,), tf.int32),
        "b": tf.TensorSpec((None, 3), tf.float32),
        "c": tf.TensorSpec((4,), tf.int32),
        "d": tf.TensorSpec((), tf.string),
    }
    assert find_sequences(spec) == [True, True, False, False]


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (tf.TensorSpec(None), "may be unknown"),
        (tf.TensorSpec((3, None)), "may be unknown"),
        (tf.TensorSpec((None, None)), "may be unknown"),
        (tf.RaggedTensorSpec((2, None)), "dense tensors"),
        (tf.SparseTensorSpec((2, 3)), "dense tensors"),
    ],
    ids=str,
)
def test_what_cannot_be_padded_is_refused(spec, complaint):
    with pytest.raises(ValueError, match=complaint):
        find_sequences(spec)


def test_lengths_are_one_or_several():
    assert check_lengths(3) == (3,)
    assert check_lengths([2, 5]) == (2, 5)


@pytest.mark.parametrize(
    "lengths", [0, -1, True, 2.0, None, (), (2, 2), (3, 2), (2, 3.5), "23"]
)
def test_other_lengths_are_refused(lengths):
    with pytest.raises(ValueError, match="positive integer or increasing"):
        check_lengths(lengths)


def test_images_beside_a_sequence_are_left_alone():
    image = np.ones((5, 6, 3), "float32")
    numbers = tf.data.Dataset.from_tensors(7)
    pairs = numbers.map(lambda n: ({"image": image}, tf.range(n)))
    ((inputs, labels),) = fit(pairs, 2, "truncate")
    assert inputs["image"].shape == (5, 6, 3)
    assert labels.numpy().tolist() == [0, 1]
