"""The batches of a run, in an order that a later process can repeat."""

import hashlib

import tensorflow as tf

_UNKNOWN = int(tf.data.UNKNOWN_CARDINALITY)
_INFINITE = int(tf.data.INFINITE_CARDINALITY)


class Stream:
    """A dataset as one row of batches, and how to come back to a place in it.

        batches before an epoch = sum of the steps of all epochs before it

    Keras makes iterators as it pleases, and every one of them draws a new
    order from a shuffle. So that the order depends on the place alone,
    Keras is given a dataset without end, of which it makes one iterator. (Of
    a finite dataset whose number of batches nobody knows it makes one for
    each epoch.)

    The first batch is read to be recognised. That is a pass over the dataset
    too, in every process: the order is not that of `model.fit`.

    Args:
        dataset: Batches.
        steps_per_epoch: As for `model.fit`, or None.
        steps_per_execution: The model's.
        is_distributed: Whether a strategy makes the iterator.
    """

    def __init__(
        self,
        dataset: tf.data.Dataset,
        *,
        steps_per_epoch: int | None = None,
        steps_per_execution: int = 1,
        is_distributed: bool = False,
    ):
        if not isinstance(dataset, tf.data.Dataset):
            raise ValueError(
                "`dataset` must be a tf.data.Dataset if there are "
                "`checkpoints`: other data cannot be brought back to a place. "
                "tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x), "
                f"seed=0).batch(32) makes one. Received: {type(dataset)}"
            )
        self._given = dataset
        self._is_distributed = is_distributed
        self._cardinality = int(dataset.cardinality())
        _check_steps(
            self._cardinality,
            steps_per_epoch,
            steps_per_execution,
            is_distributed,
        )
        # Whether Keras makes an iterator for each epoch.
        self.is_by_epoch = (
            self._cardinality == _UNKNOWN and steps_per_epoch is None
        )
        self.steps_per_epoch = steps_per_epoch
        if steps_per_epoch is None and not self.is_by_epoch:
            self.steps_per_epoch = self._cardinality
        repeats = self._cardinality != _INFINITE and not self.is_by_epoch
        self.dataset = dataset.repeat() if repeats else dataset
        self.first_batch = next(iter(dataset), None)
        if self.first_batch is None:
            raise ValueError("`dataset` is empty.")

    def describe(self) -> dict:
        """What must be the same when the run is continued."""
        return {
            "element_spec": str(self._given.element_spec),
            "number of batches": self._cardinality,
            "steps_per_epoch": self.steps_per_epoch,
            "first batch": _fingerprint(self.first_batch),
        }

    def check(self, described: dict, source) -> None:
        """Refuse other data.

        Args:
            described: What `describe` has said of the data of a run.
            source: Where it was saved.
        """
        here = self.describe()
        for name, value in described.items():
            if here[name] == value:
                continue
            advice = "Give another folder."
            if name == "first batch":
                advice = (
                    "Shuffle with a seed, `shuffle(size, seed=…)`, and make "
                    "the dataset anew: one that was gone through before has "
                    f"another order. If the data is new, {advice.lower()}"
                )
            raise ValueError(
                f"{source} is of a run on other data: {name} was {value}, "
                f"and is {here[name]}. {advice}"
            )

    def replay(self, *, batches: int, epochs: int, step: int) -> int:
        """Bring shuffles to where they were, before Keras makes its iterator.

        A pass that is over need not be gone through: its first batch makes
        every shuffle draw its order.

        Args:
            batches: How many were trained on.
            epochs: How many epochs were complete.
            step: How many batches of the next one were trained on.

        Returns:
            How many batches of Keras' first iterator are to be discarded.
        """
        passes, discarded = 0, batches
        if self.is_by_epoch:
            passes, discarded = epochs, step
        elif self._cardinality > 0 and not self._is_distributed:
            passes, discarded = divmod(batches, self._cardinality)
        for _ in range(passes):
            next(iter(self._given), None)
        return discarded

    def one_batch(self, number: int):
        """An iterator over copies of the first batch, as Keras would make."""
        return iter(
            # A dataset of tensors would have other static shapes, and Keras
            # would compile a step for them.
            tf.data.Dataset.from_generator(
                lambda: iter([self.first_batch] * number),
                output_signature=self._given.element_spec,
            )
        )


def discard(iterator, number: int, *, tolerance: int = 0) -> None:
    """Read batches that were trained on before.

    Args:
        iterator: Keras' own.
        number: How many.
        tolerance: How many may be missing at the end.

    Raises:
        ValueError: If more than these are missing.
    """
    for index in range(number):
        try:
            next(iterator)
        except (StopIteration, tf.errors.OutOfRangeError):
            if index < number - tolerance:
                raise ValueError(
                    f"The data has ended after {index} batches, and the "
                    f"checkpoint was saved after {number}: it is other data."
                ) from None
            return


def _check_steps(number, steps, per_execution, is_distributed):
    if number == _INFINITE and steps is None:
        raise ValueError("Data without end needs `steps_per_epoch`.")
    if number == _UNKNOWN and steps is None and is_distributed:
        raise ValueError(
            "Nobody knows how many batches `dataset` has, which a strategy "
            "needs to come back to a place: give `steps_per_epoch`."
        )
    if steps is None and number > 0 and number % per_execution:
        raise ValueError(
            f"`steps_per_execution` must divide the {number} batches of an "
            "epoch, so that no execution reaches into the next. Received: "
            f"steps_per_execution={per_execution}. Or give `steps_per_epoch`."
        )


def _fingerprint(batch):
    digest = hashlib.sha256()
    for leaf in tf.nest.flatten(batch, expand_composites=True):
        if leaf is not None:
            digest.update(tf.io.serialize_tensor(leaf).numpy())
    return digest.hexdigest()[:16]
