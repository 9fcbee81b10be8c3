import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_attn.export.graph.graph_dedup import merge_equal_nodes
from tests import cpp_loader


class Repeating(tf.Module):
    def __init__(self):
        super().__init__()
        self.weight = tf.Variable([[2.0, 3.0, 5.0]])

    @tf.function(input_signature=[tf.TensorSpec([None, 3], name="x")])
    def serve(self, x):
        rows = [tf.shape(x)[0] for _ in range(4)]
        total = x * self.weight[0] + self.weight[0, 1]
        for row in rows:
            total += tf.cast(row, tf.float32)
        # A draw is not the draw before.
        draws = [tf.random.uniform([2]) for _ in range(2)]
        total = tf.while_loop(
            lambda i, y: i < tf.shape(x)[0],
            lambda i, y: (i + 1, y + x[0] + tf.cast(tf.shape(x)[1], "float32")),
            (0, total),
        )[1]
        return {"total": total, "draws": tf.stack(draws), "rows": rows[-1]}


@pytest.fixture
def folder(tmp_path):
    module = Repeating()
    tf.saved_model.save(module, tmp_path, signatures=module.serve)
    return tmp_path


def nodes(folder, op):
    saved = saved_model_pb2.SavedModel.FromString(
        (folder / "saved_model.pb").read_bytes()
    )
    functions = saved.meta_graphs[0].graph_def.library.function
    return [n for f in functions for n in f.node_def if n.op == op]


def test_repeated_nodes_go_and_answers_stay(folder):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    before = cpp_loader.run(folder, "serving_default", {"x": x})
    repeated = {op: len(nodes(folder, op)) for op in ("Const", "Shape", "Cast")}
    draws = len(nodes(folder, "RandomUniform"))
    merge_equal_nodes(folder)
    for op, count in repeated.items():
        assert 0 < len(nodes(folder, op)) < count
    assert len(nodes(folder, "RandomUniform")) == draws >= 2

    after = cpp_loader.run(folder, "serving_default", {"x": x})
    for name in ("total", "rows"):
        np.testing.assert_array_equal(after[name], before[name])
    assert not np.array_equal(*after["draws"])
    loaded = tf.saved_model.load(str(folder)).signatures["serving_default"]
    np.testing.assert_array_equal(
        loaded(x=tf.constant(x))["total"], before["total"]
    )


def test_a_second_time_changes_nothing(folder):
    merge_equal_nodes(folder)
    once = (folder / "saved_model.pb").read_bytes()
    merge_equal_nodes(folder)
    assert (folder / "saved_model.pb").read_bytes() == once
