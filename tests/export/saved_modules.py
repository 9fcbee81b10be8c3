"""Small SavedModels that show one thing each."""

import tensorflow as tf

DTYPES = (
    *("float16", "bfloat16", "float32", "float64"),
    *("int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
    *("bool", "complex64", "complex128", "string"),
)


class Echo(tf.Module):
    """Gives back what it takes, of every dtype, with a variable on the way."""

    def __init__(self):
        super().__init__()
        self.factor = tf.Variable(3.0)

    @tf.function
    def echo(self, **inputs):
        return {name: tf.identity(value) for name, value in inputs.items()}

    @tf.function
    def scale(self, x):
        return {"scaled": self.factor * x}

    @tf.function
    def check(self, text):
        good = tf.reduce_all(tf.strings.length(text) < 9)
        with tf.control_dependencies([tf.debugging.Assert(good, ["too long"])]):
            return {"loud": tf.strings.upper(text)}

    @tf.function
    def forget(self, text):
        return {"words": tf.strings.length(text)}

    @tf.function(jit_compile=True)
    def compiled(self, x):
        return {"doubled": 2.0 * x}

    def save(self, folder, *, xla=False, echo=True):
        specs = {name: tf.TensorSpec([None, 2], name, name) for name in DTYPES}
        x = tf.TensorSpec([None, 2], tf.float32, "x")
        text = tf.TensorSpec([None], tf.string, "text")
        signatures = {
            "scale": self.scale.get_concrete_function(x),
            "check": self.check.get_concrete_function(text),
            "forget": self.forget.get_concrete_function(text),
        }
        if echo:
            signatures["echo"] = self.echo.get_concrete_function(**specs)
        if xla:
            signatures["compiled_xla"] = self.compiled.get_concrete_function(x)
        tf.saved_model.save(self, str(folder), signatures)
        return folder
