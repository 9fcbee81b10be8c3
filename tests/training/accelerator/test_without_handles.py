import pytest
import tensorflow as tf

from keras_attn.training.accelerator.functional import functional_step
from tests.training.accelerator.functional_steps import check
from tests.training.accelerator.functional_steps import traced


@pytest.fixture
def matrix(rng):
    return tf.Variable(rng.normal(size=(5, 3)).astype("float32"))


@pytest.fixture
def count():
    return tf.Variable(2)


@pytest.fixture
def x(rng):
    return tf.constant(rng.normal(size=(5, 3)), "float32")


def test_reads_before_and_after_an_assignment_differ(matrix, count, x):
    def step(x):
        before = matrix + x
        matrix.assign(before * 2)
        count.assign_add(3)
        matrix.assign_sub(x)
        return before, matrix * 1, tf.gather(matrix, [0, 4, 0]), count + 0

    check(step, [matrix, count], x)


def test_loops_read_and_assign(matrix, count, x):
    def body(i, total):
        count.assign_add(i)
        return i + 1, total + matrix

    def step(x):
        _, total = tf.while_loop(
            lambda i, total: i < count + 1, body, (0, x), maximum_iterations=4
        )
        return total, count * 2

    check(step, [matrix, count], x)


@pytest.mark.parametrize("limit", [0, 9])
def test_each_branch_assigns_variables_of_its_own(matrix, count, x, limit):
    def less():
        matrix.assign_add(matrix)
        return tf.reduce_sum(matrix)

    def more():
        count.assign(7)
        return tf.reduce_max(matrix)

    def step(x):
        found = tf.cond(count < limit, less, more)
        return found, matrix + x, count + 1

    check(step, [matrix, count], x)


def test_functions_that_are_called_assign(matrix, count, x):
    @tf.function(autograph=False)
    def inner(x):
        count.assign_add(1)
        matrix.assign(matrix * x)
        return matrix + tf.cast(count, "float32")

    def step(x):
        return inner(x) + inner(2 * x)

    check(step, [matrix, count], x)


def test_an_op_that_has_no_form_without_a_handle_is_named(matrix):
    def scatter():
        matrix.scatter_add(tf.IndexedSlices(tf.ones((1, 3)), [0]))

    with pytest.raises(ValueError, match="'ResourceScatterAdd' on a variable"):
        functional_step(traced(scatter))
