"""`fit` on any number of devices and machines, with Keras' own loop."""

import contextlib

import keras
import tensorflow as tf

from keras_attn.training.distribution import global_loss
from keras_attn.training.distribution import replicas
from keras_attn.training.distribution.apply_gradients import apply_gradients
from keras_attn.training.distribution.replica_step import ReplicaStep


class DistributedFit:
    """Gives a `keras.Model` a `fit` that is right under any strategy.

        loss = Σ weight · loss / Σ weight      over the rows of all replicas

    The loop, the callbacks, metrics, history and progress bar are Keras' own,
    and without a strategy nothing is changed. Under one, as of Keras 3.15:

    - `TensorFlowTrainer._make_function` would put XLA around the exchange
      between replicas, which cannot be compiled; here each replica's forward
      and backward are. A TPU's strategy compiles the whole step, and so there
      is no XLA of our own in it, nor in `make_predict_function`.
    - `TensorFlowTrainer.train_step` and `test_step` would take the mean of the
      replicas' means, which is another number where they have unequal numbers
      of labels, and would clip gradients before they are summed.
    - `TensorFlowTrainer._maybe_symbolic_build` would average the first batch
      over replicas, and fail on several machines; here a replica's part is
      looked at.
    - Replicas would drop the same units; here their seeds differ.

    While an epoch runs, the progress bar shows the mean of what the replicas
    found; `history` has what all of them found together. Batch normalisation
    takes the statistics of each replica's rows.
    """

    # Parts of a batch that are taken one by one; see `distributed`.
    micro_batches = 1

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            if self._steps_together():
                own = type(self).train_step is not DistributedFit.train_step
                replicas.check(self, own_step=own)
            # Keras makes the optimizer's weights while the first step is
            # traced, which makes TensorFlow trace that step twice, and keep
            # both.
            optimizer = self.optimizer
            if self.built and optimizer is not None and not optimizer.built:
                with self.distribute_strategy.scope():
                    optimizer.build(self.trainable_variables)
        return super().make_train_function(force)

    def train_step(self, data):
        if not self._steps_together():
            return super().train_step(data)
        return self._step(data, training=True)

    def test_step(self, data):
        if not self._steps_together():
            return super().test_step(data)
        return self._step(data, training=False)

    def _steps_together(self):
        return self._distribute_strategy is not None or self.micro_batches > 1

    def _step(self, data, *, training):
        data = keras.utils.unpack_x_y_sample_weight(data)
        rows = tf.shape(keras.tree.flatten(data)[0])[0]
        rows = tf.cast(rows, keras.backend.floatx())
        totals = replicas.summed([rows, *global_loss.weight_sums(self, *data)])
        all_rows, *totals = totals

        step = ReplicaStep(
            self,
            training=training,
            micro_batches=self.micro_batches if training else 1,
        )
        trained, fixed, state = step.values()
        state = replicas.move_seeds(step.state, state)
        run = step
        if self.jit_compile and not replicas.compiles_whole_steps(self):
            run = tf.function(step, jit_compile=True, autograph=False)
        number = self.distribute_strategy.num_replicas_in_sync
        loss, losses, gradients, state = run(
            (trained, fixed, state), data, totals, rows * number / all_rows
        )

        if training:
            gradients = [
                None if i in step.without_gradient else gradient
                for i, gradient in enumerate(gradients)
            ]
            apply_gradients(self.optimizer, gradients, step.trained)
        state = replicas.move_seeds(step.state, state, -1)
        for i in sorted(step.changed):
            step.state[i].assign(state[i])
        self._track(loss, losses, all_rows)
        logs = self.get_metrics_result()
        return replicas.as_logs(logs, self.distribute_strategy)

    def _track(self, loss, losses, all_rows):
        """Update the mean of the loss, and those of its parts.

        Each replica brings its share of the sum, and as much of the weight as
        the others.
        """
        replica_number = self.distribute_strategy.num_replicas_in_sync
        weight = all_rows / replica_number
        self._loss_tracker.update_state(
            loss * replica_number, sample_weight=weight
        )
        metrics = self._compile_loss.metrics if self._compile_loss else []
        for metric, value in zip(metrics, losses, strict=False):
            metric.update_state(value * replica_number, sample_weight=weight)

    def _make_function(self, step_function):
        if self._distribute_strategy is None:
            return super()._make_function(step_function)
        with _without_xla(self):
            return super()._make_function(step_function)

    def make_predict_function(self, force=False):
        if not replicas.compiles_whole_steps(self):
            return super().make_predict_function(force)
        with _without_xla(self):
            return super().make_predict_function(force)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        if not self._steps_together():
            return super()._maybe_symbolic_build(iterator, data_batch)
        strategy = self.distribute_strategy
        if iterator is not None:
            replicas.check_batches(iterator.num_batches, strategy)
            _, _, batches = next(iter(iterator))
            data_batch = replicas.local_part(next(batches), strategy)
        with strategy.scope():
            self._symbolic_build(data_batch=data_batch)

    def _aggregate_additional_loss(self, loss):
        return global_loss.added_loss(super()._aggregate_additional_loss(loss))

    def _resolve_auto_jit_compile(self):
        strategy, self._distribute_strategy = self._distribute_strategy, None
        try:
            return super()._resolve_auto_jit_compile()
        finally:
            self._distribute_strategy = strategy


@contextlib.contextmanager
def _without_xla(model):
    """While a function is made that a strategy runs."""
    jit_compile, model.jit_compile = model.jit_compile, False
    try:
        yield
    finally:
        model.jit_compile = jit_compile
