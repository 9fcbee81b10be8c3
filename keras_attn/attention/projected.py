"""The linear maps into heads and out of them, as Keras makes them."""

import itertools
import math
import string

import keras
from keras import ops

from keras_attn.base.layer import Layer

# Keras' files go by these names.
PROJECTIONS = (
    "query_dense",
    "key_dense",
    "_gate_dense",
    "value_dense",
    "output_dense",
)


class ProjectedAttention(Layer):
    """An attention layer with a projection for each input and the output.

        (batch, ..., *inputs) → (batch, ..., *outputs)

    They are `keras.layers.EinsumDense` with the equations, weights and names
    of Keras' multi-head attention, so that its files, LoRA and quantisation
    fit. A subclass makes them in `build`, as the attributes `PROJECTIONS`.

    Args:
        use_bias: Whether the projections have a bias.
        kernel_initializer, bias_initializer, kernel_regularizer,
            bias_regularizer, activity_regularizer, kernel_constraint,
            bias_constraint: Of each projection.
    """

    def __init__(
        self,
        *,
        use_bias,
        kernel_initializer,
        bias_initializer,
        kernel_regularizer,
        bias_regularizer,
        activity_regularizer,
        kernel_constraint,
        bias_constraint,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.use_bias = use_bias
        self._projection_options = dict(
            kernel_initializer=keras.initializers.get(kernel_initializer),
            bias_initializer=keras.initializers.get(bias_initializer),
            kernel_regularizer=keras.regularizers.get(kernel_regularizer),
            bias_regularizer=keras.regularizers.get(bias_regularizer),
            activity_regularizer=keras.regularizers.get(activity_regularizer),
            kernel_constraint=keras.constraints.get(kernel_constraint),
            bias_constraint=keras.constraints.get(bias_constraint),
        )

    def quantized_call(self, *args, **kwargs):
        """Call as ever: it is the projections that are quantised."""
        return self.call(*args, **kwargs)

    def quantize(self, mode=None, **options):
        """Quantise every projection; `mode` is "int8", for example."""
        for projection in self.projections():
            projection.quantize(mode, **options)

    def get_config(self):
        options = {
            name: keras.saving.serialize_keras_object(option)
            for name, option in self._projection_options.items()
        }
        policy = keras.dtype_policies.serialize(self._policy_to_rebuild())
        return {
            **super().get_config(),
            "dtype": policy,
            "use_bias": self.use_bias,
            **options,
        }

    def projections(self) -> list:
        """Return the projections made so far."""
        return [getattr(self, x) for x in PROJECTIONS if hasattr(self, x)]

    def make_projection(
        self,
        name: str,
        input_shape,
        *output_shape: int,
        num_inputs: int = 1,
        activation: str | None = None,
    ) -> keras.layers.EinsumDense:
        """Make and build the map of the last axes of an input to others.

        Args:
            name: Of the projection.
            input_shape: (batch, ..., *inputs).
            output_shape: Sizes of the outputs' axes, such as heads and depth.
            num_inputs: How many axes `inputs` are.
            activation: What follows the map, if anything.

        Returns:
            The built projection.
        """
        kept = string.ascii_uppercase[: len(input_shape) - num_inputs]
        inputs = string.ascii_lowercase[:num_inputs]
        outputs = string.ascii_lowercase[num_inputs:][: len(output_shape)]
        options = dict(self._projection_options)
        for initializer in ("kernel_initializer", "bias_initializer"):
            # One and the same makes the same numbers for every projection.
            options[initializer] = options[initializer].clone()
        projection = keras.layers.EinsumDense(
            f"{kept}{inputs},{inputs}{outputs}->{kept}{outputs}",
            output_shape=(*[None] * (len(kept) - 1), *output_shape),
            bias_axes=outputs if self.use_bias else None,
            activation=activation,
            name=name,
            dtype=_policy_at(self.dtype_policy, f"{self.path}/{name}"),
            **options,
        )
        # Otherwise Keras warns that the mask of the input goes no further.
        projection.supports_masking = True
        projection.build(input_shape)
        return projection

    def _policy_to_rebuild(self):
        """Return a dtype policy that makes the projections as they are now.

        `model.quantize` quantises them one by one, and does not tell the
        layer around them.
        """
        policy = self.dtype_policy
        changed = {
            projection.path: projection.dtype_policy
            for projection in self.projections()
            if projection.dtype_policy != _policy_at(policy, projection.path)
        }
        if not changed:
            return policy
        policy_map = keras.dtype_policies.DTypePolicyMap
        if isinstance(policy, policy_map):
            return policy_map(policy.default_policy.name, {**policy, **changed})
        return policy_map(policy.name, changed)


def project_each(inputs, projections) -> list:
    """Project each of the inputs, in one product if they are all the same.

    Self-attention then reads its input once, and the gradient of the input is
    one product instead of three and two sums.

    Args:
        inputs: Tensors, (batch, ..., features).
        projections: As many projections.

    Returns:
        A list of (batch, ..., heads, depth).
    """
    first = inputs[0]
    if all(x is first for x in inputs) and all(
        _is_plain(projection, first) for projection in projections
    ):
        return _project_together(first, projections)
    pairs = zip(projections, inputs, strict=True)
    return [projection(x) for projection, x in pairs]


def _is_plain(projection, x):
    """Whether it is x W + b, and nothing needs to know that it was called."""
    return (
        type(projection) is keras.layers.EinsumDense
        and projection.compute_dtype == keras.backend.standardize_dtype(x.dtype)
        and projection.quantization_mode is None
        and projection.activity_regularizer is None
        and not projection.lora_enabled
    )


def _project_together(x, projections):
    shapes = [projection.kernel.shape[1:] for projection in projections]
    sizes = [math.prod(shape) for shape in shapes]
    kernels = [
        ops.reshape(projection.kernel, (x.shape[-1], size))
        for projection, size in zip(projections, sizes, strict=True)
    ]
    # Keras casts weights within a call only, and a step is none.
    heads = ops.matmul(x, ops.cast(ops.concatenate(kernels, axis=1), x.dtype))
    if projections[0].bias is not None:
        biases = [ops.reshape(each.bias, (-1,)) for each in projections]
        heads += ops.cast(ops.concatenate(biases, axis=0), x.dtype)
    ends = list(itertools.accumulate(sizes))[:-1]
    parts = ops.split(heads, ends, axis=-1)
    return [
        ops.reshape(part, (*ops.shape(x)[:-1], *shape))
        for part, shape in zip(parts, shapes, strict=True)
    ]


def _policy_at(policy, path):
    """Return the policy for one path, out of the map if it is one."""
    # Keras' quantised projections do not look themselves up in a map.
    is_map = isinstance(policy, keras.dtype_policies.DTypePolicyMap)
    return policy[path] if is_map else policy
