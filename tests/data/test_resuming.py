"""A whole training run that is stopped, and goes on as if it had not been."""

import keras
import pytest
import tensorflow as tf

from keras_attn.data.pipeline.batching import batches
from keras_attn.models import GPT

STEPS_BEFORE, STEPS_AFTER = 5, 4  # into the second pass


def new_run():
    """Fresh objects of everything that a checkpoint must bring back."""
    examples = tf.data.Dataset.range(14).map(
        lambda k: tf.range(k % 5 + 2, dtype=tf.int32) + tf.cast(k, tf.int32) + 1
    )
    examples = examples.map(lambda tokens: (tokens[:-1], tokens[1:]))
    dataset = batches(examples, 2, lengths=[3, 6], shuffle=5, seed=3)
    model = GPT(
        vocabulary_size=23,
        num_layers=1,
        num_heads=2,
        units=8,
        max_length=6,
        dropout=0.4,
    )
    optimizer = keras.optimizers.Adam(0.01)
    model.build((2, 6))
    optimizer.build(model.trainable_variables)
    iterator = iter(dataset.repeat())
    step = tf.Variable(0, dtype=tf.int64)
    checkpoint = tf.train.Checkpoint(
        model=model, optimizer=optimizer, iterator=iterator, step=step
    )

    # One trace for both lengths: tracing takes most of the time.
    @tf.function(input_signature=dataset.element_spec)
    def train(tokens, labels):
        with tf.GradientTape() as tape:
            logits = model(tokens, training=True)
            loss = tf.reduce_mean(
                keras.losses.sparse_categorical_crossentropy(
                    labels, logits, from_logits=True
                )
            )
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        step.assign_add(1)
        return loss

    def losses(count):
        return [train(*next(iterator)).numpy() for _ in range(count)]

    return checkpoint, losses


@pytest.mark.slow
def test_a_run_with_dropout_goes_on_with_the_same_losses(tmp_path):
    checkpoint, losses = new_run()
    before = losses(STEPS_BEFORE)
    path = checkpoint.write(str(tmp_path / "saved"))
    after = losses(STEPS_AFTER)

    # Other weights and other dropout, if the checkpoint did not bring them. The
    # order of the passes to come depends on TensorFlow's seed, as `batches`
    # says.
    keras.utils.set_random_seed(99)
    tf.random.set_seed(0)
    resumed, losses = new_run()
    resumed.read(path).assert_consumed()
    assert resumed.step == STEPS_BEFORE
    # To the last bit: the same batches, dropout, weights and momenta.
    assert losses(STEPS_AFTER) == after
    assert len(set(before + after)) == STEPS_BEFORE + STEPS_AFTER
