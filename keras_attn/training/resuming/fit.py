"""Keras' `fit` that goes on where a killed run has stopped."""

import os

import keras

from keras_attn.base import argument_checks
from keras_attn.training.resuming import state
from keras_attn.training.resuming import workers
from keras_attn.training.resuming.background import BackgroundWriter
from keras_attn.training.resuming.folder import CheckpointFolder
from keras_attn.training.resuming.lock import only_run
from keras_attn.training.resuming.run_callbacks import RunCallbacks
from keras_attn.training.resuming.saver import Saver
from keras_attn.training.resuming.stream import Stream
from keras_attn.training.resuming.termination import Termination


def fit(
    model: keras.Model,
    dataset,
    *,
    checkpoints: str | os.PathLike | None = None,
    save_every: int = 500,
    keep: int = 3,
    monitor: str | None = None,
    mode: str = "min",
    **options,
) -> keras.callbacks.History:
    """Train as `model.fit` does, and survive a kill.

        fit(model, dataset, checkpoints="run", epochs=10)

    The same program, run again, continues at the last checkpoint and ends
    with the same weights, bit for bit: dropout, shuffles, optimizers, metrics
    and Keras' callbacks go on where they were. Shuffle with a seed; cache
    before you shuffle. SIGTERM saves and ends the program (143); a loss that
    is not finite is an error; a full disk is warned about, and training goes
    on. Several workers share the folder, and end after the next save.

    Args:
        model: A compiled model.
        dataset: Batches; a `tf.data.Dataset` if there are `checkpoints`. With
            `steps_per_epoch` a finite one is gone through again and again.
        checkpoints: A folder of this run alone; without it this is `model.fit`.
        save_every: After how many batches; also at the end of every epoch.
        keep: How many of the last checkpoints to keep.
        monitor, mode: Figure of an epoch whose "min" or "max" is the best, as
            "val_loss": that checkpoint is kept too. See `restore`.
        **options: Whatever `model.fit` takes.

    Returns:
        The history of all epochs, also of those before a kill.
    """
    if checkpoints is None:
        return model.fit(dataset, **options)
    argument_checks.integer(save_every, "save_every", at_least=1)
    argument_checks.choice(mode, "mode", ("min", "max"))
    folder = CheckpointFolder(checkpoints, keep)
    folder.path.mkdir(parents=True, exist_ok=True)
    if not workers.is_chief(model.distribute_strategy):
        return _fit(model, dataset, folder, save_every, monitor, mode, options)
    with only_run(folder.path):
        folder.prepare()
        return _fit(model, dataset, folder, save_every, monitor, mode, options)


def _fit(model, dataset, folder, save_every, monitor, mode, options):
    options = {"epochs": 1, "verbose": "auto", "shuffle": False, **options}
    epochs, verbose = options["epochs"], options["verbose"]
    is_distributed = workers.is_distributed(model.distribute_strategy)
    stream = Stream(
        dataset,
        steps_per_epoch=options.pop("steps_per_epoch", None),
        steps_per_execution=model.steps_per_execution,
        is_distributed=is_distributed,
    )
    checkpoint = folder.newest()
    workers.check_same(
        model.distribute_strategy,
        -1 if checkpoint is None else checkpoint[1]["position"]["batches"],
        f"The workers do not find the same checkpoints in {folder.path}. Give "
        "all of them one folder, on a file system that they share.",
    )
    if checkpoint is not None:
        path, header, _ = checkpoint
        stream.check(header["data"], path)
        _check_executions(header, model.steps_per_execution, path)
        if not is_distributed:
            _make_variables(model, stream, header, path)
        # Early stopping has had its last word.
        begin = epochs if header["stopped"] else header["position"]["epoch"]
        options["initial_epoch"] = begin
        if verbose:
            _report(path, header["position"], begin, epochs)
    with (
        Termination() as termination,
        BackgroundWriter(lambda: _consequence(folder)) as writer,
    ):
        saver = Saver(
            *(model, folder, writer),
            data=stream.describe(),
            monitor=monitor,
            mode=mode,
        )
        callbacks = RunCallbacks(
            options.pop("callbacks", None),
            saver=saver,
            stream=stream,
            save_every=save_every,
            termination=termination,
            checkpoint=checkpoint,
            # What Keras gives to its own list.
            add_history=True,
            add_progbar=verbose != 0,
            verbose=verbose,
            epochs=epochs,
            steps=stream.steps_per_epoch,
            model=model,
        )
        try:
            with workers.lost(model.distribute_strategy, saver.last):
                return model.fit(
                    stream.dataset,
                    callbacks=callbacks,
                    steps_per_epoch=stream.steps_per_epoch,
                    **options,
                )
        finally:
            callbacks.let_go()


def _make_variables(model, stream, header, path):
    """Make the variables that Keras makes in the first step."""
    if model.built:
        state.check(model, header["variables"], path, only="model")
    if len(state.describe(model)) != len(header["variables"]):
        # A step whose effects are overwritten; it is compiled here instead
        # of later.
        model.make_train_function()
        model.train_function(stream.one_batch(model.steps_per_execution))


def _check_executions(header, number, path):
    step = header["position"]["step"]
    if step % number:
        raise ValueError(
            f"{path} was saved after {step} steps of an epoch, of which "
            f"`steps_per_execution`={number} makes no whole number. Compile "
            "the model as before."
        )


def _report(path, position, begin, epochs):
    where = f"epoch {position['epoch'] + 1}, step {position['step']}"
    if begin >= epochs:
        where = "the run is over"
    print(f"Continuing from {path}: {where}", flush=True)


def _consequence(folder):
    last = next(iter(folder.files()), None)
    return (
        "Training goes on, and would continue from "
        f"{last or 'its beginning'} if it were killed. Make room on the disk."
    )
