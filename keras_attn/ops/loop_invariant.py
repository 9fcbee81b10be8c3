"""What every step of a loop needs and none changes: before and after it."""

import contextvars

import tensorflow as tf

from keras_attn.ops.tiling.tiles import length_of

_multiply = contextvars.ContextVar("multiply", default=tf.matmul)


def inside_loop() -> bool:
    """Whether the body of a loop is being traced."""
    eager = tf.executing_eagerly()
    return not eager and _is_body(tf.compat.v1.get_default_graph())


def before_loop(make):
    """Call `make` before the loop whose body is being traced.

        while …: y = x f(W)   becomes   V = f(W); while …: y = x V

    XLA moves what no step changes out of a loop; TensorFlow's own executor
    would make it again in each step. Outside of a loop, and eagerly, it is
    made where it stands.

    Args:
        make: A function without arguments, of weights alone: what the loop
            computes does not exist before it.

    Returns:
        What `make` returned.
    """
    if tf.executing_eagerly():
        return make()
    graph = tf.compat.v1.get_default_graph()
    # A search may loop within a loop.
    while _is_body(graph):
        graph = graph.outer_graph
    with graph.as_default():
        return make()


def shared_product(x, shared):
    """Multiply by what no step of a loop changes: a weight, or a memory.

        y(t) = x(t) W        dW = Σ x(t)ᵀ dy(t) = Xᵀ dY

    In the steps of `recur` the gradient of W is one product of all steps,
    after the loop. A product in each of them, and the sum of those, would go
    through memory of W's size four times in every step. Anywhere else this is
    a product like any other.

    Args:
        x: (batch, features), or (batch, ..., rows, features).
        shared: (features, units), or (batch, ..., features, units).

    Returns:
        (batch, units), or (batch, ..., rows, units).
    """
    return _multiply.get()(x, shared)


class SharedProducts:
    """The shared products of the steps of a loop, in the order of a step.

    For each there is a sequence of zeros, (time, batch, ...), that the loop
    reads and whose gradient is dY; going on from there to W needs X, which
    the loop writes. Eager steps have none: a tape sees each as it is.
    """

    def __init__(self):
        self.found = []
        # (time, *x.shape) of each; to be set when the loop has been traced.
        self.factors = []

    @property
    def first_factors(self) -> list:
        """The x of each product that was found."""
        return [x for x, *_ in self.found]

    def find(self, step, *arguments):
        """Call a step that stands before the loop, and note its products."""
        if tf.executing_eagerly():
            return step(*arguments)
        graph = tf.compat.v1.get_default_graph()

        def multiply(x, shared):
            product = tf.matmul(x, shared)
            # Not those of a loop within the step.
            if tf.compat.v1.get_default_graph() is graph:
                self.found.append((x, shared, product))
            return product

        return _call(step, arguments, multiply)

    def zeros(self, length, rows) -> list:
        """The sequences that the loop is to read, one for each product."""
        return [
            self._zeros(index, length, rows) for index in range(len(self.found))
        ]

    def defer(self, step, zeros, *arguments):
        """Call a step of the loop.

        Args:
            step, arguments: The function and what it is called with.
            zeros: What the loop read of each sequence.

        Returns:
            What it returned, and the x of each product.
        """
        factors, waiting = [], list(zeros)
        if not waiting:
            return step(*arguments), factors
        graph = tf.compat.v1.get_default_graph()

        def multiply(x, shared):
            if not waiting or tf.compat.v1.get_default_graph() is not graph:
                return tf.matmul(x, shared)
            factors.append(x)
            zero = waiting.pop(0)
            if getattr(shared, "graph", None) is graph:
                # Made in this step, so not shared.
                return tf.matmul(x, shared)
            return _product(x, shared, zero)

        return _call(step, arguments, multiply), factors

    def _zeros(self, index, length, rows):
        _, shared, product = self.found[index]
        # Not the shape of all of it: nobody needs to run the step.
        further = [length_of(product, k) for k in range(1, product.shape.rank)]
        shape = [length, product.shape[0] or rows, *further]

        @tf.custom_gradient
        def zeros(shared):
            def gradient(upstream):
                return tf.matmul(
                    _rows_of_all_steps(self.factors[index]),
                    _rows_of_all_steps(upstream),
                    transpose_a=True,
                )

            return tf.zeros(shape, product.dtype), gradient

        return zeros(shared)


def _is_body(graph):
    return type(graph).__name__ == "WhileBodyFuncGraph"


@tf.custom_gradient
def _product(x, shared, zero):
    """x W, whose gradient goes to x and, in place of W, to `zero`."""

    def gradient(upstream):
        return tf.matmul(upstream, shared, transpose_b=True), None, upstream

    return tf.matmul(x, shared), gradient


def _rows_of_all_steps(x):
    """(time, ..., rows, features) → (..., time · rows, features)."""
    rank, shape = x.shape.rank, tf.shape(x)
    x = tf.transpose(x, [*range(1, rank - 2), 0, rank - 2, rank - 1])
    return tf.reshape(x, tf.concat([shape[1:-2], [-1], shape[-1:]], axis=0))


def _call(step, arguments, multiply):
    token = _multiply.set(multiply)
    try:
        return step(*arguments)
    finally:
        _multiply.reset(token)
