"""A model with all that it needs to answer requests."""

import abc
from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_attn.export.graph.signature import Signature


class Task(tf.Module, abc.ABC):
    """A model, and what leads from a request to its answer.

    Subclasses keep tokenizers and other `tf.Module`s as attributes, so that a
    SavedModel takes their tables along.

    Args:
        model: The model that answers.

    Attributes:
        longest: The most positions of a sequence in the graph; None if there
            is no limit.
    """

    longest: int | None = None

    def __init__(self, model: keras.Model):
        super().__init__()
        # In a function, which TensorFlow does not look into: a SavedModel that
        # tracks a Keras model holds its weights twice.
        self._get_model = lambda: model
        self.weights = [variable.value for variable in model.variables]
        # Of layers that look up words, for example; they are no weights.
        self.tables = [
            part
            for part in tf.train.TrackableView(model).descendants()
            if isinstance(part, tf.saved_model.experimental.TrackableResource)
        ]

    @property
    def model(self) -> keras.Model:
        """The model that answers."""
        return self._get_model()

    @abc.abstractmethod
    def signatures(self) -> Sequence[Signature]:
        """What can be asked; the first is the main job, `serving_default`."""
