import pytest
import tensorflow as tf

from keras_attn.data.pipeline.remainders import check_counted
from keras_attn.data.pipeline.remainders import check_when_they_end


def examples(*lengths):
    numbers = tf.data.Dataset.from_tensor_slices(tf.constant(lengths, tf.int32))
    return numbers.map(lambda n: (tf.range(n), n))


def lengths_of(dataset):
    return [int(length) for _, length in dataset]


def reports(capfd):
    lines = capfd.readouterr().err.splitlines()
    return [line for line in lines if line.startswith("keras_attn.data")]


@pytest.mark.parametrize(
    ("lengths", "sentence"),
    [
        ((1, 4, 5, 2, 5), None),
        ((1, 4, 5, 2, 5, 3), "1 of 6 examples filled no batch and was"),
        ((5, 4, 3, 5, 2, 5, 1), "2 of 7 examples filled no batch and were"),
    ],
    ids=["filled", "one", "two"],
)
def test_what_fills_no_batch_is_counted_in_every_pass(lengths, sentence, capfd):
    checked = check_when_they_end(examples(*lengths), (3, 2), (4, 5))
    for _ in range(2):
        assert lengths_of(checked) == list(lengths)
        assert reports(capfd) == (
            [f"keras_attn.data: {sentence} left out."] if sentence else []
        )


def test_without_sequences_all_examples_count_together(capfd):
    checked = check_when_they_end(tf.data.Dataset.range(7), (3,), None)
    assert [int(number) for number in checked] == list(range(7))
    assert reports(capfd) == [
        "keras_attn.data: 1 of 7 examples filled no batch and was left out."
    ]


def test_a_pass_that_fills_no_batch_of_a_length_ends_in_an_error():
    checked = iter(check_when_they_end(examples(1, 5, 4, 2), (3, 2), (4, 5)))
    assert [int(next(checked)[1]) for _ in range(4)] == [1, 5, 4, 2]
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"too few examples: 1 of length 5 to 5 for a batch of 2\. All",
    ):
        next(checked)


def test_a_resumed_pass_counts_all_of_it(tmp_path, capfd):
    checked = check_when_they_end(examples(1, 4, 2, 3), (3, 2), (4, 5))
    iterator = iter(checked)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "saved"))
    resumed = iter(checked)
    tf.train.Checkpoint(iterator=resumed).read(path).assert_consumed()
    assert lengths_of(resumed) == [4, 2, 3]
    assert reports(capfd)[-1] == (
        "keras_attn.data: 1 of 4 examples filled no batch and was left out."
    )


def test_nothing_is_not_too_little(capfd):
    check_counted([0], (3,), None)
    check_counted([0, 2, 8], (3, 2, 2), (4, 5, 9))
    nothing = check_when_they_end(examples(1).take(0), (3, 2), (4, 5))
    assert list(nothing) == []
    assert reports(capfd) == []


def test_what_will_be_left_out_of_several_lengths_is_said_at_once(capfd):
    check_counted([4], (3,), (9,))
    assert reports(capfd) == []
    check_counted([4, 2, 7], (3, 2, 2), (4, 5, 9))
    assert reports(capfd) == [
        "keras_attn.data: 2 of 13 examples fill no batch, and as many are "
        "left out in every pass."
    ]


@pytest.mark.parametrize(
    ("counts", "rows", "lengths", "complaint"),
    [
        ([2], (3,), None, r"too few examples: 2 for a batch of 3\. All"),
        ([2], (3,), (5,), r"too few examples: 2 for a batch of 3\. All"),
        (
            [2, 9, 1],
            (3, 3, 2),
            (4, 6, 9),
            "2 of length 0 to 4 for a batch of 3, "
            "1 of length 7 to 9 for a batch of 2. All of these .*"
            "smaller `batch_size`.*fewer `lengths`.*drop_remainder=False",
        ),
    ],
    ids=["fixed", "one length", "several"],
)
def test_a_length_that_fills_no_batch_is_refused(
    counts, rows, lengths, complaint
):
    with pytest.raises(ValueError, match=complaint):
        check_counted(counts, rows, lengths)
