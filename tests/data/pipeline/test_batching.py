import collections
import json
import signal
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.data.pipeline import batching
from keras_attn.data.pipeline.batching import batches
from keras_attn.data.pipeline.batching import bucket_specs


def numbered(*lengths):
    """Example k has as many tokens k + 1 as is said, and label k."""
    numbers = tf.data.Dataset.from_tensor_slices(
        (tf.constant(lengths, tf.int32), tf.range(len(lengths)))
    )
    return numbers.map(lambda n, k: (tf.fill([n], k + 1), k))


def labels_of(dataset):
    return [label.tolist() for _, label in dataset.as_numpy_iterator()]


def flat_labels(dataset):
    return [label for batch in labels_of(dataset) for label in batch]


def test_with_one_length_every_shape_is_known():
    dataset = batches(numbered(1, 3, 2, 2), 2, lengths=5)
    tokens, labels = dataset.element_spec
    assert tokens == tf.TensorSpec((2, 5), tf.int32)
    assert labels == tf.TensorSpec((2,), tf.int32)
    first, second = (
        tokens.tolist() for tokens, _ in dataset.as_numpy_iterator()
    )
    assert first == [[1, 0, 0, 0, 0], [2, 2, 2, 0, 0]]
    assert second == [[3, 3, 0, 0, 0], [4, 4, 0, 0, 0]]
    assert dataset.cardinality() == 2


def test_with_several_lengths_each_example_takes_the_first_that_it_fits():
    lengths = [3, 5, 9]
    examples = numbered(*range(1, 10), *range(9, 0, -1), 0, 0)
    dataset = batches(examples, 2, lengths=lengths)
    tokens, labels = dataset.element_spec
    assert tokens.shape.as_list() == [2, None]
    assert labels.shape.as_list() == [2]
    assert bucket_specs(dataset, lengths) == [
        (tf.TensorSpec((2, n), tf.int32), tf.TensorSpec((2,), tf.int32))
        for n in lengths
    ]
    shapes = set()
    for tokens, _ in dataset.as_numpy_iterator():
        shapes.add(tokens.shape)
        for row in tokens:
            real = np.count_nonzero(row)
            assert len(row) == min(n for n in lengths if n >= real)
    assert shapes == {(2, 3), (2, 5), (2, 9)}
    assert sorted(flat_labels(dataset)) == list(range(20))


LONG_AND_SHORT = (*[8] * 8, *[135] * 6)


@pytest.mark.parametrize("cache", [None, True])
def test_lengths_may_be_chosen_from_the_examples(cache, capsys):
    dataset = batches(
        unknown(numbered(*LONG_AND_SHORT)), 2, lengths="auto", cache=cache
    )
    assert "lengths=(8, 136) for 14 examples" in capsys.readouterr().err
    assert dataset.element_spec[0].shape.as_list() == [2, None]
    shapes = collections.Counter(tuple(tokens.shape) for tokens, _ in dataset)
    assert shapes == {(2, 8): 4, (2, 136): 3}
    # They were counted, so the number of batches is known.
    assert dataset.cardinality() == 7
    static = [tokens.shape for tokens, _ in bucket_specs(dataset, (8, 136))]
    assert static == [(2, 8), (2, 136)]


def test_a_single_chosen_length_gives_static_shapes(capsys):
    dataset = batches(numbered(5, 5, 5, 5), 2, lengths="auto")
    assert dataset.element_spec[0] == tf.TensorSpec((2, 5), tf.int32)
    # Six that are long fill no batch of eight: they share one with the others.
    dataset = batches(numbered(*LONG_AND_SHORT), 8, lengths="auto")
    assert dataset.element_spec[0] == tf.TensorSpec((8, 136), tf.int32)
    with pytest.raises(ValueError, match="too few examples: 4"):
        batches(numbered(3, 5, 4, 2), 5, lengths="auto")


def test_lengths_of_remainders_may_be_chosen_too(capsys):
    dataset = batches(
        numbered(*LONG_AND_SHORT), 8, lengths="auto", drop_remainder=False
    )
    shapes = sorted(tuple(tokens.shape) for tokens, _ in dataset)
    assert shapes == [(6, 136), (8, 8)]
    assert dataset.cardinality() == 2


def test_the_longest_sequence_of_an_example_is_its_length():
    examples = tf.data.Dataset.from_tensors(4).map(
        lambda n: ({"a": tf.ones(n - 3), "b": tf.ones([n, 2])}, tf.ones(n - 1))
    )
    ((inputs, labels),) = batches(examples, 1, lengths=[2, 4, 6])
    assert inputs["a"].shape == labels.shape == (1, 4)
    assert inputs["b"].shape == (1, 4, 2)


def test_each_length_may_have_its_own_batch_size():
    sizes, lengths = (3, 2), (2, 4)
    dataset = batches(numbered(1, 2, 1, 3, 4, 2), sizes, lengths=lengths)
    shapes = {tuple(tokens.shape) for tokens, _ in dataset}
    assert shapes == {(3, 2), (2, 4)}
    assert [
        tuple(tokens.shape)
        for tokens, _ in bucket_specs(dataset, lengths, sizes)
    ] == [(3, 2), (2, 4)]
    with pytest.raises(ValueError, match=r"not static.*`batch_size`"):
        bucket_specs(dataset, lengths)


def test_examples_of_fixed_shapes_need_no_lengths():
    examples = tf.data.Dataset.from_tensor_slices(
        (np.zeros((5, 2, 3, 1), "uint8"), np.arange(5))
    )
    dataset = batches(examples, 2)
    assert dataset.element_spec[0].shape == (2, 2, 3, 1)
    assert labels_of(dataset) == [[0, 1], [2, 3]]


Pair = collections.namedtuple("Pair", "tokens label")


@pytest.mark.parametrize(
    "make",
    [
        lambda tokens: (tokens,),
        lambda tokens: Pair(tokens, 1),
        lambda tokens: {"tokens": tokens},
    ],
    ids=["tuple of one", "namedtuple", "dictionary"],
)
@pytest.mark.parametrize("too_long", ["error", "drop", "truncate"])
@pytest.mark.parametrize("lengths", [4, [4, 6]], ids=str)
def test_the_structure_stays(make, lengths, too_long):
    numbers = tf.data.Dataset.from_tensors(3)
    examples = numbers.map(lambda n: make(tf.range(n) + 5))
    dataset = batches(examples, 1, lengths=lengths, too_long=too_long)
    (batch,) = dataset
    tf.nest.assert_same_structure(examples.element_spec, batch)
    tf.nest.assert_same_structure(examples.element_spec, dataset.element_spec)
    tokens = max(tf.nest.flatten(batch), key=tf.size)
    assert tokens.numpy().tolist() == [[5, 6, 7, 0]]


def test_an_unfilled_batch_is_dropped_or_kept():
    examples = numbered(1, 2, 3)
    assert labels_of(batches(examples, 2, lengths=4)) == [[0, 1]]
    kept = batches(examples, 2, lengths=4, drop_remainder=False)
    assert labels_of(kept) == [[0, 1], [2]]
    kept = batches(examples, 2, lengths=[2, 4], drop_remainder=False)
    assert labels_of(kept) == [[0, 1], [2]]
    assert kept.element_spec[0].shape.as_list() == [None, None]


def unknown(examples):
    """The same examples, whose number nobody knows."""
    return examples.filter(lambda *example: True)


@pytest.mark.parametrize("lengths", [4, [2, 4]], ids=str)
def test_a_batch_that_can_never_be_filled_is_an_error(lengths):
    examples = numbered(1, 1, 1)
    with pytest.raises(ValueError, match=r"too few examples: 3.* batch of 4"):
        batches(examples, 4, lengths=lengths)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"too few examples: 3.* batch of 4",
    ):
        list(batches(unknown(examples), 4, lengths=lengths))
    kept = batches(examples, 4, lengths=lengths, drop_remainder=False)
    assert labels_of(kept) == [[0, 1, 2]]


@pytest.mark.parametrize("cache", [None, True])
def test_a_length_that_never_fills_a_batch_is_an_error(cache):
    examples = numbered(1, 5, 2, 1, 2)
    sentence = "too few examples: 1 of length 4 to 6 for a batch of 2"
    with pytest.raises(ValueError, match=sentence):
        batches(examples, 2, lengths=[3, 6], cache=cache)
    kept = batches(examples, (2, 1), lengths=[3, 6])
    assert sorted(flat_labels(kept)) == list(range(5))
    # Where it can be known only at the end, it is said at the end.
    uncounted = batches(unknown(examples), 2, lengths=[3, 6])
    assert labels_of(uncounted.take(2)) == [[0, 2], [3, 4]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=sentence):
        list(uncounted)


def test_examples_that_fill_no_batch_are_counted(capfd):
    examples = numbered(1, 5, 2, 1, 2, 6, 3, 5)
    options = {"lengths": [3, 6], "shuffle": 3}
    dataset = batches(examples, (2, 3), **options)
    assert capfd.readouterr().err.splitlines()[-1] == (
        "keras_attn.data: 1 of 8 examples fill no batch, and as many are left "
        "out in every pass."
    )
    uncounted = batches(unknown(examples), (2, 3), **options)
    for _ in range(2):
        found = labels_of(dataset)
        assert labels_of(uncounted) == found
        assert sorted(map(len, found)) == [2, 2, 3]
        assert capfd.readouterr().err.splitlines()[-1] == (
            "keras_attn.data: 1 of 8 examples filled no batch and was left out."
        )


@pytest.mark.parametrize(
    ("shard", "drop_remainder"), [(None, True), ((1, 2), False)], ids=str
)
@pytest.mark.parametrize("too_long", ["error", "drop", "truncate"])
@pytest.mark.parametrize("lengths", [9, [2, 4, 9]], ids=str)
def test_the_number_of_batches_is_known(
    lengths, too_long, shard, drop_remainder
):
    longest = 9 if too_long == "error" else 13
    examples = numbered(*[1 + 5 * k % longest for k in range(47)])
    options = {
        "lengths": lengths,
        "too_long": too_long,
        "shard": shard,
        "drop_remainder": drop_remainder,
        "shuffle": 7,
    }
    cached = batches(unknown(examples), 2, **options, cache=True)
    for dataset in (cached, batches(examples, 2, **options)):
        count = len(labels_of(dataset))
        assert dataset.cardinality() == count > 5
        assert dataset.repeat(2).cardinality() == 2 * count
        # A strategy must not give a worker some of the files.
        policy = dataset.options().experimental_distribute.auto_shard_policy
        assert policy.name == ("DATA" if shard is None else "OFF")
    whole = batches(unknown(examples), 2, **options)
    assert labels_of(whole)[:1] and whole.cardinality() < 0


def test_counted_examples_are_made_once():
    made = []

    def note(tokens, label):
        made.append(int(label))
        return tokens, label

    def noted(*example):
        tokens, label = tf.py_function(note, example, [tf.int32, tf.int32])
        return tf.ensure_shape(tokens, [None]), tf.ensure_shape(label, [])

    examples = numbered(1, 3, 2).map(noted)
    dataset = batches(examples, 1, lengths=[2, 3], cache=True)
    assert sorted(flat_labels(dataset)) == [0, 1, 2]
    assert sorted(made) == [0, 1, 2]


def test_images_are_not_decoded_only_to_be_counted():
    captions = numbered(1, 3, 2)
    examples = captions.map(lambda n, k: (tf.zeros([5, 6, 3]), n))
    assert batches(examples, 1, lengths=[2, 3]).cardinality() < 0
    assert batches(examples, 1, lengths=3).cardinality() == 3


def test_many_examples_are_not_read_only_to_be_counted(monkeypatch):
    examples = numbered(1, 3, 2)
    assert batches(examples, 1, lengths=[2, 3]).cardinality() == 3
    monkeypatch.setattr(batching, "COUNTED_AT_ONCE", 2)
    assert batches(examples, 1, lengths=[2, 3]).cardinality() < 0
    cached = batches(examples, 1, lengths=[2, 3], cache=True)
    assert cached.cardinality() == 3


@pytest.mark.parametrize("too_long", ["error", "drop", "truncate"])
@pytest.mark.parametrize("lengths", [4, [2, 4]], ids=str)
def test_no_examples_give_no_batches(lengths, too_long, capfd):
    dataset = batches(
        numbered().take(0), 2, lengths=lengths, too_long=too_long, shuffle=3
    )
    assert list(dataset) == []
    assert "keras_attn" not in capfd.readouterr().err


def test_length_one_is_a_length():
    dataset = batches(numbered(1, 0), 2, lengths=1)
    ((tokens, _),) = dataset.as_numpy_iterator()
    assert tokens.tolist() == [[1], [0]]


def test_the_order_is_kept_without_shuffling():
    assert flat_labels(batches(numbered(*[1] * 50), 5, lengths=2)) == list(
        range(50)
    )


def test_shuffling_is_new_in_every_pass_and_the_same_in_every_run():
    def passes(seed):
        dataset = batches(
            numbered(*[1] * 20), 5, lengths=2, shuffle=20, seed=seed
        )
        return [flat_labels(dataset) for _ in range(2)]

    first, second = passes(seed=1)
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second and first != list(range(20))
    assert passes(seed=1) == [first, second]
    assert passes(seed=2)[0] != first


def test_what_is_cached_is_shuffled_anew():
    dataset = batches(numbered(*[1] * 20), 5, lengths=2, cache=True, shuffle=20)
    assert flat_labels(dataset) != flat_labels(dataset)


@pytest.mark.parametrize("lengths", [6, [2, 6]], ids=str)
def test_shards_cover_every_example_exactly_once(lengths, tmp_path):
    examples = numbered(1, 2, 6, 3, 1, 2, 5, 4, 1, 6, 6)
    shards = [
        batches(
            examples,
            2,
            lengths=lengths,
            shuffle=4,
            cache=tmp_path / "cache",
            shard=(index, 2),
            drop_remainder=False,
        )
        for index in range(2)
    ]
    for _ in range(2):
        first, second = map(flat_labels, shards)
        assert len(first) == 6 and len(second) == 5
        assert sorted(first + second) == list(range(11))


def test_a_strategy_does_not_share_out_a_shard_again():
    policy = tf.data.experimental.AutoShardPolicy
    examples = numbered(1, 1)

    def policy_of(dataset):
        return dataset.options().experimental_distribute.auto_shard_policy

    assert policy_of(batches(examples, 1, lengths=1)) != policy.OFF
    shard = batches(examples, 1, lengths=1, shard=(0, 2))
    assert policy_of(shard) == policy.OFF


def test_too_long_examples_are_reported_after_every_pass(capfd):
    dataset = batches(
        numbered(1, 4, 2, 5, 3),
        1,
        lengths=[2, 3],
        too_long="drop",
        cache=True,
        shuffle=9,
    )
    for _ in range(2):
        assert sorted(flat_labels(dataset)) == [0, 2, 4]
        assert capfd.readouterr().err.splitlines()[-1] == (
            "keras_attn.data: 2 of 5 examples were longer than 3 and were "
            "left out."
        )


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"lengths": None}, "`lengths` is needed"),
        ({"lengths": 0}, "`lengths` must be"),
        ({"lengths": [3, 3]}, r"increasing.*Received: lengths=\[3, 3\]"),
        ({"lengths": [3, 2]}, "increasing"),
        ({"lengths": []}, "`lengths` must be"),
        ({"lengths": 2.0}, "`lengths` must be"),
        ({"lengths": "automatic"}, "`lengths` must be"),
        ({"lengths": "auto", "batch_size": (2, 3)}, "is one number"),
        ({"lengths": "auto", "batch_size": 0}, "integer of at least 1"),
        ({"lengths": "auto", "shard": (0, 2)}, "lengths=auto_lengths"),
        ({"too_long": "cut"}, "'error', 'drop', 'truncate'.*'cut'"),
        ({"shuffle": 0}, "`shuffle` must be an integer of at least 1"),
        ({"shuffle": True}, "`shuffle` must be an integer of at least 1"),
        ({"batch_size": 0}, "`batch_size` must be an integer of at least 1"),
        ({"batch_size": (2, 3)}, "one for each of `lengths`"),
        ({"shard": (2, 2)}, "index from 0 to count - 1"),
        ({"shard": (-1, 2)}, "index from 0 to count - 1"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options, complaint):
    options = {"batch_size": 1, "lengths": 3, **options}
    with pytest.raises(ValueError, match=complaint):
        batches(numbered(1, 2), **options)


def test_lengths_for_examples_of_fixed_shapes_are_refused():
    examples = tf.data.Dataset.from_tensors((tf.range(3), 1))
    with pytest.raises(ValueError, match="nothing to pad"):
        batches(examples, 1, lengths=4)


@pytest.mark.parametrize("compiled", [True, False], ids=["xla", "graph"])
def test_keras_takes_as_many_steps_as_there_are_batches(compiled):
    examples = numbered(1, 2, 3, 4, 5, 6, 2, 3)
    model = keras.Sequential(
        [
            keras.layers.Embedding(10, 4),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(8),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, jit_compile=compiled)
    steps = 0
    for lengths in (6, [3, 6]):
        dataset = batches(examples, 1, lengths=lengths, shuffle=8, cache=True)
        history = model.fit(dataset, epochs=3, verbose=0, shuffle=False)
        assert np.isfinite(history.history["loss"]).all()
        steps += 3 * 8
        assert model.optimizer.iterations == steps


def resumable(folder, name):
    """Three passes over 40 examples, in each of the ways to cache them."""
    cache = {"none": None, "memory": True, "files": folder / "cache"}[name]
    examples = numbered(*[1 + 3 * k % 11 for k in range(40)])
    return batches(
        # Those that are not counted take another road.
        unknown(examples) if cache is None else examples,
        2,
        lengths=[4, 8],
        too_long="drop",
        shuffle=7,
        seed=5,
        cache=cache,
    ).repeat(3)


# In the first pass, while the memory fills, or in the second.
STOPS = {"none": 20, "memory": 3, "files": 20}


@pytest.mark.parametrize("cache", STOPS)
@pytest.mark.parametrize("stop", [3, 20])
def test_a_saved_iterator_resumes_at_the_same_example(cache, stop, tmp_path):
    whole = labels_of(resumable(tmp_path / "whole", cache))
    iterator = iter(resumable(tmp_path, cache))
    seen = [next(iterator)[1].numpy().tolist() for _ in range(stop)]
    path = tf.train.Checkpoint(iterator=iterator).write(str(tmp_path / "saved"))
    next(iterator)
    del iterator
    resumed = iter(resumable(tmp_path, cache))
    tf.train.Checkpoint(iterator=resumed).read(path).assert_consumed()
    rest = [label.numpy().tolist() for _, label in resumed]
    assert len(whole) > stop + 3
    assert seen + rest == whole


KILLED = """
import json, pathlib, sys, time
import keras
import tensorflow as tf
from tests.data.pipeline.test_batching import STOPS, resumable

keras.utils.set_random_seed(0)
folder = pathlib.Path(sys.argv[1])
seen = {}
for name, stop in STOPS.items():
    iterator = iter(resumable(folder, name))
    seen[name] = [next(iterator)[1].numpy().tolist() for _ in range(stop)]
    tf.train.Checkpoint(iterator=iterator).write(str(folder / name))
    # Batches after the checkpoint are lost with the process.
    next(iterator), next(iterator)
print(json.dumps(seen), flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_a_killed_run_resumes_at_the_same_example(tmp_path):
    whole = {
        name: labels_of(resumable(tmp_path / "whole", name))
        for name in ("none", "memory")
    }
    whole["files"] = whole["memory"]
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        seen = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    seen = json.loads(seen)
    for name, stop in STOPS.items():
        iterator = iter(resumable(tmp_path, name))
        checkpoint = tf.train.Checkpoint(iterator=iterator)
        checkpoint.read(str(tmp_path / name)).assert_consumed()
        rest = [label.numpy().tolist() for _, label in iterator]
        assert len(rest) > 9
        assert seen[name] + rest == whole[name]
        assert len(seen[name]) == stop
