import re

import pytest
import tensorflow as tf

from benchmarks.loop_ops import TARGET
from benchmarks.loop_ops import loop_ops
from benchmarks.loop_ops import main


def test_ops_of_the_body_are_counted_without_constants():
    @tf.function
    def double(times):
        return tf.while_loop(
            lambda i, x: i < times,
            lambda i, x: (i + 1, tf.square(x) * x),
            (0, 2.0),
        )

    ops = loop_ops(double.get_concrete_function(tf.TensorSpec([], tf.int32)))
    assert ops["Square"] == ops["Mul"] == 1
    assert "Const" not in ops


def test_a_graph_without_a_loop_is_refused():
    concrete = tf.function(lambda: 1.0).get_concrete_function()
    with pytest.raises(ValueError, match="holds no loop"):
        loop_ops(concrete)


@pytest.mark.slow
def test_a_layer_of_a_step_takes_no_more_ops_than_the_target(
    monkeypatch, capsys
):
    command = "loop_ops --layers 1 --width 8 --heads 2 --vocabulary 11"
    monkeypatch.setattr("sys.argv", command.split())
    main()
    first, _, *kinds = capsys.readouterr().out.splitlines()
    total, layer = (int(x) for x in re.findall(r"\d+", first))
    assert 20 < layer <= TARGET
    assert total > layer
    counts = {line.split()[2]: line.split()[:2] for line in kinds}
    assert sum(int(count) for count, _ in counts.values()) == total
    # What a product of rows × features has no use for.
    for kind in ("Shape", "Pack", "StridedSlice", "Prod", "Transpose"):
        assert counts.get(kind, "00")[1] == "0"
