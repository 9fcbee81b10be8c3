import keras
import numpy as np
import tensorflow as tf

from keras_attn.base.layer import Layer
from keras_attn.base.tracking import hidden_children


class Everything(Layer):
    """Layers and seeds in all the places where they can be kept."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.attribute = keras.layers.Dense(2)
        self.listed = [keras.layers.Dense(3), keras.layers.Dropout(0.5)]
        self.named = {"a": keras.layers.Dense(4)}
        self.drop = keras.layers.Dropout(0.5)
        self.seed_generator = keras.random.SeedGenerator(1)
        self.nested = Nested()

    def build(self, inputs_shape):
        for layer in (self.attribute, *self.listed, *self.named.values()):
            layer.build(inputs_shape)


class Nested(Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.drops = [keras.layers.Dropout(0.5)]


def make():
    layer = Everything()
    layer.build((None, 5))
    return layer


def test_finds_what_is_in_lists_and_seeds_but_not_what_is_shown_already():
    layer = make()
    assert hidden_children(layer) == {
        "listed_0": layer.listed[0],
        "listed_1": layer.listed[1],
        "listed_1_seed_generator": layer.listed[1].seed_generator.state,
        "named_a": layer.named["a"],
        "drop_seed_generator": layer.drop.seed_generator.state,
        "seed_generator": layer.seed_generator.state,
    }
    shown = layer.nested._trackable_children()
    seed = layer.nested.drops[0].seed_generator.state
    assert shown["drops_0_seed_generator"] is seed


def test_further_layers_are_shown_by_their_names():
    layer, drop = Nested(), keras.layers.Dropout(0.5)
    children = hidden_children(layer, {"more": drop})
    assert children["more"] is drop
    assert children["more_seed_generator"] is drop.seed_generator.state


def test_a_checkpoint_holds_every_variable(tmp_path, rng):
    layer, twin = make(), make()
    for variable in layer.variables:
        variable.assign(rng.integers(1, 9, size=variable.shape))
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(layer=layer), tmp_path, max_to_keep=1
    )
    manager.save()
    checkpoint = tf.train.Checkpoint(layer=twin)
    checkpoint.restore(manager.latest_checkpoint).assert_consumed()
    assert len(twin.variables) == 10
    for a, e in zip(twin.variables, layer.variables, strict=True):
        np.testing.assert_array_equal(a, e, err_msg=e.path)


def test_a_checkpoint_waits_for_weights_that_are_made_later(tmp_path):
    layer, twin = make(), Everything()
    path = tf.train.Checkpoint(layer=layer).write(str(tmp_path / "early"))
    status = tf.train.Checkpoint(layer=twin).read(path)
    twin.build((None, 5))
    status.assert_consumed()
    np.testing.assert_array_equal(twin.listed[0].kernel, layer.listed[0].kernel)
