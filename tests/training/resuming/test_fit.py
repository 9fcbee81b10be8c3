import importlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn import training
from tests.models.sagan import small
from tests.training.resuming import runs

# Keras warns when data whose number nobody knows has ended.
pytestmark = pytest.mark.filterwarnings("ignore:Your input ran out of data")

SLOW = pytest.mark.slow
EPOCHS = 3


KINDS = [
    "finite",
    *(pytest.param(x, marks=SLOW) for x in ("unknown", "endless")),
]


@pytest.fixture(scope="module", params=KINDS)
def whole(request, tmp_path_factory):
    """A kind of data, and the model and history of a run that nobody stops."""
    folder = tmp_path_factory.mktemp("whole")
    return request.param, *runs.run(folder, request.param)


def run_and_stop(folder, steps, kind="finite", **options):
    """The same run, stopped after some steps."""
    callbacks = [*options.pop("callbacks", ()), runs.StopAt(steps)]
    with pytest.raises(KeyboardInterrupt):
        runs.run(folder, kind, callbacks=callbacks, **options)


def test_a_run_that_was_stopped_ends_with_the_same_weights(whole, tmp_path):
    kind, model, history = whole
    # In the first epoch, at once, at an epoch's end and in the last one.
    for steps in (3, 1, 2, 5):
        run_and_stop(tmp_path, steps, kind)
    continued, figures = runs.run(tmp_path, kind)
    runs.assert_same(continued, model)
    assert figures == history


@SLOW
def test_a_run_that_is_over_is_not_trained_again(whole, tmp_path):
    kind, model, history = whole
    runs.run(tmp_path, kind)
    steps = []
    count = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda step, logs: steps.append(step)
    )
    again, figures = runs.run(tmp_path, kind, callbacks=[count])
    runs.assert_same(again, model)
    assert (figures, steps) == (history, [])


@SLOW
def test_more_epochs_go_on_after_the_last(whole, tmp_path):
    kind, model, history = whole
    runs.run(tmp_path, kind, epochs=EPOCHS - 1)
    again, figures = runs.run(tmp_path, kind)
    runs.assert_same(again, model)
    assert figures == history


@SLOW
def test_variables_that_the_first_step_makes_are_restored(tmp_path):
    def make():
        return runs.make_model(features=None, run_eagerly=False)

    whole, history = runs.run(tmp_path / "whole", model=make())
    run_and_stop(tmp_path / "cut", 6, model=make())
    model, figures = runs.run(tmp_path / "cut", model=make())
    runs.assert_same(model, whole)
    assert figures == history


@SLOW
def test_several_steps_in_one_execution_are_continued(tmp_path):
    def make():
        return runs.make_model(steps_per_execution=2)

    whole, history = runs.run(tmp_path / "whole", model=make())
    run_and_stop(tmp_path / "cut", 3, model=make())
    model, figures = runs.run(tmp_path / "cut", model=make())
    runs.assert_same(model, whole)
    assert figures == history


def test_callbacks_see_each_step_and_epoch_once(tmp_path):
    seen = []
    watch = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: seen.append(f"epoch {epoch}"),
        on_train_batch_begin=lambda step, logs: seen.append(step),
        on_epoch_end=lambda epoch, logs: seen.append(f"end {epoch}"),
    )
    # Saved after steps 2 and 4, the end of the epoch, 6.
    run_and_stop(tmp_path, 7, callbacks=[watch], epochs=2)
    assert seen == ["epoch 0", 0, 1, 2, 3, "end 0", "epoch 1", 0, 1, 2]
    seen.clear()
    runs.run(tmp_path, callbacks=[watch], epochs=2)
    assert seen == ["epoch 1", 2, 3, "end 1"]


@SLOW
def test_validation_and_callbacks_of_keras_go_on(tmp_path):
    """Early stopping, a falling rate and the best epoch, as if never killed."""

    def options(folder):
        return {
            "epochs": 9,
            "validation_data": runs.make_data(is_shuffled=False),
            "monitor": "val_loss",
            "callbacks": [
                keras.callbacks.EarlyStopping(
                    patience=3, restore_best_weights=True
                ),
                keras.callbacks.ReduceLROnPlateau(patience=1),
                keras.callbacks.ModelCheckpoint(
                    folder / "best.keras", save_best_only=True
                ),
            ],
        }

    one, other = tmp_path / "one", tmp_path / "other"
    whole, history = runs.run(one, **options(one))
    epochs = len(history["loss"])
    assert 3 < epochs < 9, "it should stop early, and not at once"
    assert len(set(history["learning_rate"])) > 1
    for steps in (6, 5):
        run_and_stop(other, steps, **options(other))
    # In validation, after the last step of an epoch.
    stop = keras.callbacks.LambdaCallback(on_test_begin=interrupt)
    with pytest.raises(KeyboardInterrupt):
        more = options(other)
        runs.run(other, **{**more, "callbacks": [*more["callbacks"], stop]})
    model, figures = runs.run(other, **options(other))
    runs.assert_same(model, whole)
    assert figures == history
    np.testing.assert_array_equal(
        *(
            keras.models.load_model(folder / "best.keras").get_weights()[0]
            for folder in (one, other)
        )
    )
    # Stopped early is stopped.
    again, figures = runs.run(other, **options(other))
    runs.assert_same(again, whole)
    assert figures == history


def interrupt(logs=None):
    raise KeyboardInterrupt


@SLOW
def test_tensorboard_goes_on_counting(tmp_path, monkeypatch):
    written = []

    def scalar(name, value, step):
        if name == "batch_loss":
            written.append(int(step))

    # In the place of the one that needs TensorBoard itself. `tf.summary` is
    # another module until Keras imports it by name.
    summary = importlib.import_module("tensorflow.summary")
    monkeypatch.setattr(summary, "scalar", scalar)

    def board():
        return keras.callbacks.TensorBoard(
            tmp_path / "board", update_freq=1, write_graph=False
        )

    run_and_stop(tmp_path, 7, callbacks=[board()])
    assert written == [*range(1, 8)]
    written.clear()
    runs.run(tmp_path, callbacks=[board()])
    # Saved after step 6: step 7 was done again.
    assert written == [*range(7, 13)]


@SLOW
def test_both_optimizers_of_a_sagan_are_continued(tmp_path):
    images, labels = small.batch(np.random.default_rng(0))

    def run(folder, callbacks=()):
        keras.utils.set_random_seed(1)
        model = small.make()
        model.compile(run_eagerly=True)
        data = tf.data.Dataset.from_tensor_slices((images, labels))
        training.fit(
            model,
            data.shuffle(4, seed=1).batch(2),
            checkpoints=folder,
            save_every=1,
            verbose=0,
            callbacks=list(callbacks),
        )
        return [
            *runs.state(model),
            *map(np.array, model.discriminator_optimizer.variables),
        ]

    whole = run(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, [runs.StopAt(2)])
    for one, other in zip(run(tmp_path), whole, strict=True):
        np.testing.assert_array_equal(one, other)


@SLOW
def test_a_callback_that_stops_in_mid_epoch_is_continued(tmp_path, whole):
    kind, model, _ = whole

    class Enough(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.stop_training = batch == 2

    runs.run(tmp_path, kind, callbacks=[Enough()])
    continued, _ = runs.run(tmp_path, kind)
    runs.assert_same(continued, model)


@SLOW
def test_the_average_of_an_optimizer_is_used_at_the_end_alone(tmp_path):
    def make():
        model = runs.make_model()
        model.optimizer.use_ema = True
        return model

    whole, _ = runs.run(tmp_path / "whole", model=make())
    run_and_stop(tmp_path / "cut", 7, model=make())
    model, _ = runs.run(tmp_path / "cut", model=make())
    runs.assert_same(model, whole)


@SLOW
def test_without_a_folder_it_is_the_fit_of_keras(tmp_path):
    model, other = runs.make_model(), runs.make_model()
    options = {"epochs": 2, "verbose": 0, "shuffle": False}
    history = training.fit(model, runs.make_data(), **options)
    assert history.history == other.fit(runs.make_data(), **options).history
    runs.assert_same(model, other)


@SLOW
def test_it_says_where_it_continues(tmp_path, capsys):
    run_and_stop(tmp_path, 6)
    runs.run(tmp_path, verbose=2)
    printed = capsys.readouterr().out
    assert "step-00000004.state: epoch 2, step 0" in printed
    runs.run(tmp_path, verbose=2)
    assert "the run is over" in capsys.readouterr().out


def test_another_model_is_refused(tmp_path):
    runs.run(tmp_path, epochs=1)
    model = runs.make_model()
    model.compile("adam", "mse", metrics=["mae"], run_eagerly=True)
    with pytest.raises(ValueError, match=r"(?i)sgd/iteration .*adam/iteration"):
        runs.run(tmp_path, model=model)
    with pytest.raises(ValueError, match=r"dense/kernel \[2, 1\].*\[3, 1\]"):
        runs.run(tmp_path, model=runs.make_model(features=3))


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (runs.make_data(scale=2.0), "first batch"),
        (runs.make_data(seed=6), "Shuffle with a seed"),
        (runs.make_data().skip(1), "number of batches was 4, and is 3"),
        (runs.make_data().map(lambda x, y: x), "element_spec"),
    ],
)
def test_other_data_is_refused(tmp_path, data, complaint):
    runs.run(tmp_path, epochs=1)
    with pytest.raises(ValueError, match=complaint):
        training.fit(runs.make_model(), data, checkpoints=tmp_path)


def test_other_executions_are_refused(tmp_path):
    run_and_stop(tmp_path, 4, save_every=1)
    model = runs.make_model(steps_per_execution=2)
    with pytest.raises(ValueError, match="steps_per_execution"):
        runs.run(tmp_path, model=model)


@SLOW
def test_a_damaged_checkpoint_is_passed_over(tmp_path):
    whole, _ = runs.run(tmp_path / "whole")
    run_and_stop(tmp_path, 7)
    newest = tmp_path / "step-00000006.state"
    newest.write_bytes(newest.read_bytes()[:-5])
    with pytest.warns(UserWarning, match="00000006.state is truncated"):
        model, _ = runs.run(tmp_path)
    runs.assert_same(model, whole)


def test_a_loss_that_is_no_number_ends_the_run(tmp_path):
    model = runs.make_model()

    class Spoil(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if self.model.optimizer.iterations == 4:
                self.model.set_weights([np.full((2, 1), np.nan)])

    with pytest.raises(
        FloatingPointError,
        match=r"loss is nan after step 5.*last good.*step-00000004.state",
    ):
        runs.run(tmp_path, model=model, callbacks=[Spoil()])
    assert sorted(p.name for p in tmp_path.glob("*.state")) == [
        "step-00000002.state",
        "step-00000004.state",
    ]


def test_two_runs_do_not_share_a_folder(tmp_path):
    def second(step, logs):
        with pytest.raises(RuntimeError, match="Another run"):
            runs.run(tmp_path)

    watch = keras.callbacks.LambdaCallback(on_train_batch_end=second)
    runs.run(tmp_path, epochs=1, callbacks=[watch])


@SLOW
def test_a_model_is_left_as_it_was(tmp_path):
    run_and_stop(tmp_path, 3)
    model = runs.make_model()
    with pytest.raises(KeyboardInterrupt):
        runs.run(
            tmp_path,
            model=model,
            callbacks=[
                keras.callbacks.LambdaCallback(on_epoch_begin=interrupt_epoch)
            ],
        )
    before = model.optimizer.iterations.numpy()
    model.fit(runs.make_data(), verbose=0, shuffle=False)
    assert model.optimizer.iterations.numpy() == before + runs.STEPS


def interrupt_epoch(epoch, logs):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "wrong", [{"save_every": 0}, {"keep": 0}, {"mode": "auto"}]
)
def test_wrong_arguments_are_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        runs.run(tmp_path, **wrong)


def test_data_that_is_no_dataset_is_refused(tmp_path):
    with pytest.raises(ValueError, match="from_tensor_slices"):
        training.fit(runs.make_model(), tf.ones((4, 2)), checkpoints=tmp_path)
