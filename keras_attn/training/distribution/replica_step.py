"""Forward and backward of a replica's batch, without side effects."""

import keras
import tensorflow as tf

from keras_attn.training.distribution import global_loss


class ReplicaStep:
    """What one replica does between two exchanges with the others.

    It is a pure function of the variables' values, so XLA can compile it where
    exchanges cannot be compiled: they stay outside, and so do assignments to
    variables that replicas share.

    Args:
        model: A compiled and built `keras.Model`.
        training: Whether gradients are taken.
        micro_batches: How many parts of a batch are taken one by one, so that
            no more than one needs memory.
    """

    def __init__(self, model, *, training: bool, micro_batches: int = 1):
        self.model = model
        self.training = training
        self.micro_batches = micro_batches
        self.trained = model.trainable_variables
        kept = {id(x) for x in self.trained}
        others = [x for x in model.variables if id(x) not in kept]
        # Layers that are frozen hold most of these, and never change them.
        frozen = {
            id(x)
            for layer in model._flatten_layers()
            for x in layer._trainable_variables
        }
        self.fixed = [x for x in others if id(x) in frozen]
        # Moving statistics, states of seeds, and metrics.
        self.state = [x for x in others if id(x) not in frozen]
        self.state += _metrics_variables(model)
        self.changed = set()  # of the state, known once it is traced
        self.without_gradient = set()  # of the trained ones, likewise

    def values(self) -> list:
        """Values of all variables, as this replica has them."""
        lists = (self.trained, self.fixed, self.state)
        return [
            [tf.convert_to_tensor(x.value) for x in variables]
            for variables in lists
        ]

    def __call__(self, values, data, totals, share):
        """Run the batch.

        Args:
            values: As of `values`.
            data: `(x, y, sample_weight)`.
            totals: For each loss what the whole batch divides it by.
            share: As for `global_loss.added_loss`.

        Returns:
            The loss, the value of each loss, gradients of the trained
            variables, and the new state.
        """
        trained, fixed, state = values
        if self.micro_batches == 1:
            return self._run(trained, fixed, state, data, totals, share)
        return self._run_in_parts(trained, fixed, state, data, totals, share)

    def _run(self, trained, fixed, state, data, totals, share):
        """One batch, or a part of it."""
        x, y, sample_weight = data
        model = self.model
        variables = [*self.trained, *self.fixed, *self.state]
        mapping = list(zip(variables, [*trained, *fixed, *state], strict=True))
        losses = []
        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        answer = global_loss.with_totals(totals, replicas, losses)
        with tf.GradientTape() as tape:
            tape.watch(trained)
            with keras.StatelessScope(mapping, collect_losses=True) as scope:
                y_pred = global_loss.call(model, x, training=self.training)
                with global_loss.asked(model, answer, share):
                    loss = global_loss.loss_of(
                        model,
                        x,
                        y,
                        y_pred,
                        sample_weight,
                        training=self.training,
                    )
                scaled = loss
                if self.training and model.optimizer is not None:
                    scaled = model.optimizer.scale_loss(loss)
                model.compute_metrics(x, y, y_pred, sample_weight)
        gradients = []
        if self.training:
            gradients = tape.gradient(scaled, trained)
            self.without_gradient |= {
                i for i, g in enumerate(gradients) if g is None
            }
            gradients = [
                tf.zeros_like(v) if g is None else g
                for g, v in zip(gradients, trained, strict=True)
            ]
        new = [scope.get_current_value(x) for x in self.state]
        self.changed |= {
            i
            for i, (a, b) in enumerate(zip(new, state, strict=True))
            if a is not b
        }
        return loss, losses, gradients, new

    def _run_in_parts(self, trained, fixed, state, data, totals, share):
        """Sum over parts of the batch, one after the other."""
        rows = tf.shape(keras.tree.flatten(data)[0])[0]
        size = rows // self.micro_batches
        left = rows - size * self.micro_batches

        def add(start, number, sums, state):
            part = keras.tree.map_structure(
                lambda x: _rows(x, start, number), data
            )
            of_rows = tf.cast(number / rows, share.dtype)
            loss, losses, gradients, state = self._run(
                trained, fixed, state, part, totals, share * of_rows
            )
            found = (loss, losses, [dense(x) for x in gradients])
            return tf.nest.map_structure(tf.add, sums, found), state

        zero = tf.zeros((), keras.backend.floatx())
        gradients = [tf.zeros_like(x) for x in trained if self.training]
        sums = (zero, [zero for _ in totals], gradients)
        number = tf.where(size > 0, self.micro_batches, 0)
        _, sums, state = tf.while_loop(
            lambda i, sums, state: i < number,
            lambda i, sums, state: (i + 1, *add(i * size, size, sums, state)),
            (tf.constant(0), sums, state),
        )
        sums, state = tf.cond(
            left > 0,
            lambda: add(rows - left, left, sums, state),
            lambda: (sums, state),
        )
        return *sums, state


def dense(gradient):
    """A gradient with one row for each of its variable's."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    return tf.math.unsorted_segment_sum(
        gradient.values, gradient.indices, gradient.dense_shape[0]
    )


def _rows(x, start, number):
    """Rows of a tensor; XLA must know how many, and not where they start."""
    if x is None:
        return None
    shape = tf.shape(x)
    begin = tf.concat([[start], tf.zeros_like(shape[1:])], axis=0)
    size = tf.concat([[number], shape[1:]], axis=0)
    part = tf.slice(x, begin, size)
    part.set_shape([None, *x.shape[1:]])
    return part


def _metrics_variables(model):
    """Of the metrics that `compute_metrics` updates."""
    # The loss's own are updated with what all replicas say.
    own = [model._loss_tracker]
    if model._compile_loss is not None:
        own += model._compile_loss.metrics
    own = {id(x) for metric in own for x in metric.variables}
    return [x for x in model.metrics_variables if id(x) not in own]
