import tensorflow as tf

from keras_attn.export.graph.shared_function import inlined
from keras_attn.export.graph.shared_function import shared_function


def test_what_two_functions_call_is_in_a_file_once(tmp_path):
    traces = []

    class Module(tf.Module):
        def __init__(self):
            super().__init__()
            self.double = shared_function(self.twice)

        def twice(self, x, *, again=False):
            traces.append(again)
            return {"doubled": (4.0 if again else 2.0) * x}

        def plus(self, x):
            return {"y": self.double(x)["doubled"] + 1.0}

        def minus(self, x):
            return {"y": self.double(x)["doubled"] - 1.0}

        def more(self, x):
            return self.double(x, again=True)

    module = Module()
    spec = tf.TensorSpec([None], tf.float32, "x")
    functions = {
        name: tf.function(getattr(module, name)).get_concrete_function(x=spec)
        for name in ("plus", "minus", "more")
    }
    assert traces == [False, True]
    tf.saved_model.save(module, str(tmp_path), functions)
    loaded = tf.saved_model.load(str(tmp_path))
    answers = {
        name: loaded.signatures[name](x=tf.constant([3.0]))
        for name in functions
    }
    assert answers["plus"]["y"] == 7.0
    assert answers["minus"]["y"] == 5.0
    assert answers["more"]["doubled"] == 12.0
    assert not hasattr(loaded, "double"), "not offered besides the signatures"


def test_it_can_be_made_part_of_its_caller():
    double = shared_function(lambda x: 2.0 * x)

    def plus(x):
        with inlined():
            return double(x) + 1.0

    spec = tf.TensorSpec([None], tf.float32)
    for function, calls in ((plus, False), (double, True)):
        traced = tf.function(function).get_concrete_function(spec)
        ops = {op.type for op in traced.graph.get_operations()}
        assert (
            bool(ops & {"PartitionedCall", "StatefulPartitionedCall"}) == calls
        )
