import json
import math
import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import training
from keras_attn.training import Throughput
from keras_attn.training.callbacks import throughput as module
from tests.training.callbacks.runs import run

LENGTHS = [5, 1, 3, 4, 2, 5, 1]  # of the rows' labels


def labels():
    """7 rows of ids, 0 after their lengths."""
    rows = np.random.default_rng(0).integers(1, 9, (7, 5))
    return np.where(np.arange(5) < np.array(LENGTHS)[:, None], rows, 0)


def batches():
    """4 batches, the last of one row."""
    dataset = tf.data.Dataset.from_tensor_slices((labels(), labels()))
    return dataset.batch(2)


def language_model(**options):
    model = keras.Sequential(
        [keras.Input((None,)), keras.layers.Embedding(9, 9)]
    )
    model.compile(
        "sgd",
        training.MaskedCrossentropy(),
        metrics=[training.MaskedAccuracy(), training.Perplexity()],
        jit_compile=False,
        **options,
    )
    return model


def records(path):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    lines = path.read_text().splitlines()
    return [json.loads(line, parse_constant=refuse) for line in lines]


def measure(path, count, *, data=None, options=None, **fit_options):
    callback = Throughput(count, file=path)
    model = language_model(**(options or {}))
    data = batches() if data is None else data
    model.fit(
        data, shuffle=False, verbose=0, callbacks=[callback], **fit_options
    )
    return records(path)


def test_real_tokens_are_counted_exactly_and_validation_is_not(tmp_path):
    path = tmp_path / "throughput.jsonl"
    validation = batches().take(1)
    found = measure(
        path, "masked_accuracy", epochs=2, validation_data=validation
    )
    assert [x["epoch"] for x in found] == [1, 2]
    assert [x["tokens"] for x in found] == [np.sum(labels() != 0)] * 2
    assert [x["tokens"] for x in found] == [sum(LENGTHS)] * 2
    assert [x["steps"] for x in found] == [4, 4]


def test_batches_of_ragged_lengths_count_too(tmp_path):
    rows = tf.ragged.constant([list(row[row != 0]) for row in labels()])
    dataset = tf.data.Dataset.from_tensor_slices(rows)
    dataset = dataset.map(lambda row: (row, row)).padded_batch(3)
    (found,) = measure(tmp_path / "x", "perplexity", data=dataset)
    assert (found["tokens"], found["steps"]) == (sum(LENGTHS), 3)


def test_the_loss_counts_rows(tmp_path):
    (found,) = measure(tmp_path / "x", "loss")
    assert found["tokens"] == 7


def test_several_steps_in_one_execution_are_all_counted(tmp_path):
    options = {"steps_per_execution": 3}
    (found,) = measure(tmp_path / "x", "masked_accuracy", options=options)
    assert (found["steps"], found["tokens"]) == (4, sum(LENGTHS))


def test_seconds_are_those_of_the_training_alone():
    class Slow(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.begin = time.perf_counter()

        def on_train_batch_end(self, batch, logs=None):
            time.sleep(0.05)
            self.end = time.perf_counter()

        def on_test_begin(self, logs=None):
            time.sleep(0.5)

        def on_epoch_end(self, epoch, logs=None):
            time.sleep(0.5)

    x = np.ones((4, 2), "float32")
    slow, callback = Slow(), Throughput(8, unit="images")
    validation = (x, x[:, :1])
    seen = run(slow, callback, batch_size=1, validation_data=validation)
    seconds = 4 / seen["steps_per_second"][0]
    assert 0.2 <= seconds < slow.end - slow.begin + 0.4
    assert seen["images_per_second"][0] == pytest.approx(32 / seconds)
    assert "tokens_per_second" not in seen


def test_rates_are_quotients_of_what_the_file_says(tmp_path):
    path = tmp_path / "new" / "x.jsonl"
    callback = Throughput(6, flops=1e6, file=path)
    seen = run(callback, epochs=2, batch_size=1)
    for place, record in enumerate(records(path)):
        seconds = record["seconds"]
        assert 0 < record["first_step_seconds"] < seconds
        assert record["steps"] == 4 and record["tokens"] == 24
        utilisation = 4e6 / seconds / record["peak_flops"]
        wanted = {
            "steps_per_second": 4 / seconds,
            "tokens_per_second": 24 / seconds,
            "model_flop_utilisation": utilisation,
        }
        for name, value in wanted.items():
            assert record[name] == pytest.approx(value)
            assert seen[name][place] == record[name]
        assert seen["peak_memory_bytes"][place] > 50_000_000
    assert records(path)[0]["peak_flops"] == records(path)[1]["peak_flops"]


def test_utilisation_of_real_products_is_a_share():
    # A step's own FLOP: forward, and backward for kernels and inputs.
    rows, width = 256, 256
    layers = [keras.layers.Dense(width) for _ in range(3)]
    model = keras.Sequential([keras.Input((width,)), *layers])
    model.compile("sgd", "mse", jit_compile=False)
    x = np.ones((rows * 8, width), "float32")
    callback = Throughput(flops=6 * 3 * rows * width**2)
    history = model.fit(
        x, x, batch_size=rows, epochs=2, verbose=0, callbacks=[callback]
    )
    # Other processes disturb both; the peak is the best of many.
    assert 0.001 < history.history["model_flop_utilisation"][1] < 2


def test_without_flops_nothing_is_measured_before(monkeypatch):
    monkeypatch.setattr(module, "matmul_peak", None)
    assert "model_flop_utilisation" not in run(Throughput())


def test_without_a_count_there_are_steps(tmp_path):
    run(Throughput(file=tmp_path / "x"), epochs=4, batch_size=2)
    assert [x["steps"] for x in records(tmp_path / "x")] == [2] * 4
    assert "tokens" not in records(tmp_path / "x")[0]


def test_every_kth_epoch_is_reported(tmp_path):
    run(Throughput(every=2, file=tmp_path / "x"), epochs=5)
    assert [x["epoch"] for x in records(tmp_path / "x")] == [2, 4]


def test_a_count_that_is_no_number_is_left_out(tmp_path):
    path = tmp_path / "x"
    callback = Throughput("weighted", file=path)
    model = language_model(
        weighted_metrics=[training.MaskedAccuracy(name="weighted")]
    )
    weights = np.full(7, math.nan, "float32")
    model.fit(
        labels(),
        labels(),
        sample_weight=weights,
        verbose=0,
        callbacks=[callback],
    )
    (found,) = records(path)
    assert "tokens" not in found and found["steps"] == 1


def test_a_file_that_cannot_be_written_ends_no_training(tmp_path):
    with pytest.warns(UserWarning, match="Throughput could not write"):
        assert len(run(Throughput(file=tmp_path), epochs=2)["loss"]) == 2


def test_a_name_that_no_metric_has_is_told_in_the_first_steps():
    model = language_model()
    steps = []
    noting = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda step, logs: steps.append(step)
    )
    with pytest.raises(ValueError, match=r"'acuracy'; .* 'masked_accuracy'"):
        model.fit(
            batches().repeat(),
            verbose=0,
            callbacks=[Throughput("acuracy"), noting],
            shuffle=False,
            steps_per_epoch=2000,
        )
    # Not at the end of the epoch.
    assert len(steps) < 1000


@pytest.mark.parametrize(
    "options",
    [
        {"count": 0},
        {"count": math.nan},
        {"count": True},
        {"unit": ""},
        {"unit": "steps"},
        {"unit": None},
        {"flops": 0},
        {"flops": "1e6"},
        {"every": 0},
    ],
)
def test_wrong_arguments_are_refused(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"`{name}` must"):
        Throughput(**options)


def test_waiting_for_data_is_a_share_of_the_time(tmp_path):
    def slowly(x, y):
        time.sleep(0.1)
        return x, y

    def slow(x, y):
        found = tf.numpy_function(slowly, [x, y], [x.dtype, y.dtype])
        return [tf.ensure_shape(a, (None, 5)) for a in found]

    # 4 batches, which nobody fetches before they are asked for.
    options = tf.data.Options()
    options.autotune.enabled = False
    data = batches().map(slow).with_options(options)
    for found in measure(tmp_path / "x", None, data=data, epochs=2):
        assert 0.4 <= found["data_wait_share"] * found["seconds"]
        assert found["data_wait_share"] <= 1


def test_several_steps_in_one_execution_tell_no_waiting(tmp_path):
    options = {"steps_per_execution": 2}
    (found,) = measure(tmp_path / "x", None, options=options)
    assert "data_wait_share" not in found


def test_the_model_is_left_as_it_was():
    model = language_model()
    model.fit(batches(), verbose=0, shuffle=False)
    function = model.train_function
    model.fit(batches(), verbose=0, shuffle=False, callbacks=[Throughput()])
    assert model.train_function is function


def test_of_a_continued_epoch_what_is_left_counts(tmp_path):
    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 1:
                raise KeyboardInterrupt

    def fit(*callbacks):
        model = language_model()
        training.fit(
            model,
            batches(),
            checkpoints=tmp_path / "run",
            save_every=1,
            verbose=0,
            callbacks=callbacks,
        )

    with pytest.raises(KeyboardInterrupt):
        fit(Stop())
    path = tmp_path / "x"
    fit(Throughput("masked_accuracy", file=path))
    (found,) = records(path)
    # Stopped in its second step, the run had saved the first one alone.
    assert (found["steps"], found["tokens"]) == (3, sum(LENGTHS[2:]))
