"""The states of a layer's random numbers, for Keras' files."""

import keras

from keras_attn.base.tracking import hidden_children


class SeedState(keras.layers.Layer):
    """A part of a layer that Keras saves: where its random numbers stand.

    Keras writes weights, and no seeds. A layer here shows this one while it is
    saved and loaded; beside its weights, because Keras' own layers refuse a
    file with more variables than they have, and ours are drop-ins for them.

    Args:
        seeds: Variables by name.
    """

    def __init__(self, seeds: dict, **kwargs):
        super().__init__(**kwargs)
        self._seeds = seeds

    def save_own_variables(self, store):
        for name, state in self._seeds.items():
            store[name] = state

    def load_own_variables(self, store):
        # Files of Keras' layers have none.
        for name in self._seeds.keys() & set(store.keys()):
            self._seeds[name].assign(store[name])


def seed_state_of(owner, listed=None) -> SeedState:
    """Make the part that saves the seeds of a layer or model.

    Args:
        owner, listed: As for `hidden_children`.

    Returns:
        The part. Without any seed this is an AttributeError, upon which Keras
        passes the attribute over.
    """
    seeds = {
        name: child
        for name, child in hidden_children(owner, listed).items()
        if not isinstance(child, keras.layers.Layer)
    }
    if not seeds:
        raise AttributeError(f"{owner.name} has no seeds.")
    return SeedState(seeds)
