"""Regions of an image as vectors, before them the image as a whole."""

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.base.layer import Layer
from keras_attn.base.mask_carrier import MaskCarrier
from keras_attn.blocks.residual import make_normalization
from keras_attn.ops import masks

WHOLE_IMAGE = (0.0, 0.0, 1.0, 1.0)


@keras.saving.register_keras_serializable(package="keras_attn")
class RegionEmbedding(Layer):
    """What the regions' stream starts from.

        location  = left, top, right, bottom, (right - left) (bottom - top)
        output(i) = dropout(norm(W feature(i) + b + U location(i) + c))

    The first output, IMG, stands for the whole image: the mean of all
    features at the location 0, 0, 1, 1, 1. A region whose box has no area is
    padding; an image without regions is IMG alone, of a feature of zeros.

    Args:
        units: Length of an output.
        epsilon: Added to the variance.
        dropout: Fraction dropped while training.
        kernel_initializer: Of W and U.

    Call arguments:
        features: (batch, regions, features).
        boxes: (batch, regions, 4), left, top, right and bottom as fractions
            of the image's width and height; zeros for padding.
        training: Whether anything is dropped.

    Returns:
        (batch, 1 + regions, units), which carries the mask of regions.

    Reference:
        Lu et al. 2019, section 2.2. https://arxiv.org/abs/1908.02265
    """

    def __init__(
        self,
        units: int,
        *,
        epsilon: float = 1e-12,
        dropout: float = 0.0,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        # Half precision cannot tell thin boxes from none; what computes with
        # them casts for itself.
        super().__init__(autocast=False, **kwargs)
        self.units = argument_checks.integer(units, "units", at_least=1)
        self.epsilon = epsilon
        self.dropout = dropout
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        own = {"dtype": self.dtype_policy}
        self.feature_dense = self._dense("feature")
        self.location_dense = self._dense("location")
        self.normalize = make_normalization("layer", epsilon, **own)
        self.drop = keras.layers.Dropout(dropout, **own)
        self.carry_mask = MaskCarrier(**own)
        self.supports_masking = True

    def build(self, features_shape, boxes_shape):
        if len(features_shape) != 3 or features_shape[-1] is None:
            raise ValueError(
                "`features` must be (batch, regions, features), the last of "
                f"known size. Received: {tuple(features_shape)}"
            )
        if len(boxes_shape) != 3 or boxes_shape[-1] != 4:
            raise ValueError(
                "`boxes` must be (batch, regions, 4): left, top, right and "
                "bottom as fractions of the image's width and height. The "
                "area is computed from them. Received: "
                f"{tuple(boxes_shape)}"
            )
        self.feature_dense.build(features_shape)
        self.location_dense.build((*boxes_shape[:-1], 5))
        self.normalize.build((*features_shape[:-1], self.units))

    def call(self, features, boxes, *, training=None):
        boxes = ops.cast(boxes, "float32")
        real = has_area(boxes)
        features = masks.zero_padding(features, real, "boxes")
        boxes = masks.zero_padding(boxes, real, "boxes")
        features = ops.concatenate([_mean(features, real), features], axis=1)
        x = self.feature_dense(features)
        x += self.location_dense(_locations(boxes))
        x = self.drop(self.normalize(x), training=training)
        mask = ops.pad(real, [(0, 0), (1, 0)], constant_values=True)
        return self.carry_mask(x, mask=mask)

    def get_config(self):
        serialize = keras.saving.serialize_keras_object
        return {
            **super().get_config(),
            "units": self.units,
            "epsilon": self.epsilon,
            "dropout": self.dropout,
            "kernel_initializer": serialize(self.kernel_initializer),
        }

    def _dense(self, name):
        return keras.layers.Dense(
            self.units,
            kernel_initializer=self.kernel_initializer.clone(),
            name=name,
            dtype=self.dtype_policy,
        )


def has_area(boxes):
    """Which of (batch, regions, 4) boxes are no padding: (batch, regions)."""
    left, top, right, bottom = (boxes[..., i] for i in range(4))
    return ops.logical_and(right > left, bottom > top)


def _mean(features, real):
    """The mean of the features of real regions: (batch, 1, features)."""
    number = ops.sum(ops.cast(real, "float32"), axis=1)[:, None, None]
    total = ops.sum(ops.cast(features, "float32"), axis=1, keepdims=True)
    mean = total / ops.maximum(number, 1.0)
    return ops.cast(mean, features.dtype)


def _locations(boxes):
    """Boxes and areas, the image's first: (batch, 1 + regions, 5)."""
    image = ops.convert_to_tensor([[WHOLE_IMAGE]], boxes.dtype)
    image = ops.broadcast_to(image, (ops.shape(boxes)[0], 1, 4))
    boxes = ops.concatenate([image, boxes], axis=1)
    sides = boxes[..., 2:] - boxes[..., :2]
    area = ops.prod(sides, axis=-1, keepdims=True)
    return ops.concatenate([boxes, area], axis=-1)
