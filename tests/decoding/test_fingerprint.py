"""What a model is made of, and whether it still is."""

import gc
import weakref

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding.fingerprint import Fingerprint


class Model(keras.Model):
    """Layers as attributes, in a list and in a dictionary."""

    def __init__(self):
        super().__init__()
        self.first = keras.layers.Dense(3)
        self.blocks = [keras.layers.Dense(3), keras.layers.Dropout(0.5)]
        self.heads = {"one": keras.layers.Dense(2)}

    def call(self, inputs):
        x = self.first(inputs)
        for block in self.blocks:
            x = block(x)
        return self.heads["one"](x)


class Holder:
    """No layer itself; has one, a variable, and a list that holds itself."""

    def __init__(self):
        self.model = Model()
        self.scale = tf.Variable(2.0)
        self.loop = [self]
        self.loop.append(self.loop)


@pytest.fixture
def model():
    model = Model()
    model(np.ones((1, 4)))
    return model


def replace_in_list(model):
    model.blocks[1] = keras.layers.Dropout(0.5)


def swap_in_list(model):
    model.blocks.reverse()


def replace_in_dictionary(model):
    dict.__setitem__(model.heads, "one", keras.layers.Dense(2))


CHANGES = {
    "lora": lambda model: model.blocks[0].enable_lora(1),
    "int8": lambda model: model.first.quantize("int8"),
    "frozen": lambda model: setattr(model, "trainable", False),
    "frozen_part": lambda model: setattr(model.first, "trainable", False),
    "list": replace_in_list,
    "order": swap_in_list,
    "dictionary": replace_in_dictionary,
    "policy": lambda model: setattr(
        model.first, "dtype_policy", keras.DTypePolicy("mixed_float16")
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen(model, change):
    fingerprint = Fingerprint(model)
    assert fingerprint.fits(model)
    change(model)
    assert not fingerprint.fits(model)
    assert Fingerprint(model).fits(model)


def test_parts_of_any_object_are_seen():
    holder = Holder()
    fingerprint = Fingerprint(holder)
    assert fingerprint.fits(holder)
    holder.scale = tf.Variable(2.0)
    assert not fingerprint.fits(holder)
    fingerprint = Fingerprint(holder)
    replace_in_list(holder.model)
    assert not fingerprint.fits(holder)


def test_training_and_new_values_are_no_change(model):
    fingerprint = Fingerprint(model)
    model.set_weights([weight + 1 for weight in model.get_weights()])
    model.compile("adam", "mse", metrics=["mae"], jit_compile=False)
    model.fit(np.ones((2, 4)), np.ones((2, 2)), verbose=0)
    model.predict(np.ones((2, 4)), verbose=0)
    assert fingerprint.fits(model)


def test_it_does_not_keep_the_model():
    holder = Holder()
    fingerprint = Fingerprint(holder)
    reference = weakref.ref(holder.model.first)
    del holder
    keras.utils.clear_session(free_memory=False)
    gc.collect()
    assert reference() is None
    assert not fingerprint.fits(Holder())
