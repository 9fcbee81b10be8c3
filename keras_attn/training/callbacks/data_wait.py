"""How long a training loop waits for its batches."""

import itertools
import time


class DataWait:
    """A `train_function` of Keras that fetches batches itself, and times it.

    Keras' own fetches a batch within the graph of a step, where nobody can tell
    one from the other. On a device that works on its own while Python goes on,
    what is timed is what would keep it waiting.

    Args:
        train_function: Keras' own, of a model that executes one step at a time.
    """

    def __init__(self, train_function):
        self.train_function = train_function
        self.seconds = 0.0

    @classmethod
    def of(cls, model):
        """That of a model: one that another callback has put there, or new."""
        if not isinstance(model.train_function, cls):
            model.train_function = cls(model.train_function)
        return model.train_function

    def __call__(self, iterator):
        start = time.perf_counter()
        try:
            batch = next(iterator)  # may say that there are no more
        finally:
            self.seconds += time.perf_counter() - start
        # Keras takes batches from any iterator that is not TensorFlow's.
        return self.train_function(itertools.chain([batch], iterator))
