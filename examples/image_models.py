"""Small networks for small images, at about equal FLOPs.

`MODELS` makes each of them for images of 28 pixels, where with four layers all
take about as many FLOPs, or of 8. The ViTs are this library's; ResNet and
ConvNeXt are plain Keras.
"""

import keras
import tensorflow as tf

from keras_attn import layers
from keras_attn import models


def vit(config, image_shape, num_classes, num_layers=None, **options):
    """Patches and a Transformer encoder."""
    return models.ViT(
        image_size=image_shape[:2],
        channels=image_shape[-1],
        patch_size=options.pop("patch_size", config.patch_size),
        num_layers=num_layers or config.num_layers,
        num_heads=4,
        units=config.units,
        num_classes=num_classes,
        pooling=options.pop("pooling", config.pooling),
        dropout=config.dropout,
        stochastic_depth=config.stochastic_depth,
        kernel_initializer=config.initializer or None,
        **options,
    )


def vit_conv_stem(config, image_shape, num_classes, **options):
    """A few convolutions make the patches (Xiao et al. 2021)."""
    x = image = keras.Input(image_shape)
    side, width = config.patch_size, config.units // 2
    while side > 1:
        x = convolution(x, width, strides=2)
        side, width = side // 2, 2 * width
    stem = keras.Model(image, x)
    return vit(
        config, image_shape, num_classes, stem=stem, patch_size=1, **options
    )


def small_data(config, image_shape, num_classes, **options):
    """Shifted patches and locality self-attention (Lee et al. 2021)."""
    return vit(
        config,
        image_shape,
        num_classes,
        shifted_patches=True,
        attention={"modifiers": ["locality"]},
        **options,
    )


def hybrid(config, image_shape, num_classes, **options):
    """Half a ResNet, whose grid a shallower ViT reads."""
    image = keras.Input(image_shape)
    blocks = max(config.num_layers // 4, 1)
    stem = keras.Model(image, residual_stages(image, config, blocks))
    return vit(
        config,
        image_shape,
        num_classes,
        num_layers=(config.num_layers + 1) // 2,
        stem=stem,
        patch_size=1,
        **options,
    )


def resnet(config, image_shape, num_classes):
    """Residual convolutions in three stages (He et al. 2016)."""
    image = keras.Input(image_shape)
    x = residual_stages(image, config, blocks=config.num_layers // 2)
    x = keras.layers.GlobalAveragePooling2D()(x)
    return keras.Model(image, keras.layers.Dense(num_classes)(x))


def convnext(config, image_shape, num_classes):
    """Depthwise convolutions built like a Transformer (Liu et al. 2022)."""
    x = image = keras.Input(image_shape)
    width, side = config.units // 2, config.patch_size // 2
    for stage in range(2):
        width, side = width * (stage + 1), 2 if stage else side
        x = keras.layers.Conv2D(width, side, strides=side)(x)
        x = keras.layers.LayerNormalization(epsilon=1e-6)(x)
        for _ in range(3 * config.num_layers // 4):
            y = keras.layers.DepthwiseConv2D(7, padding="same")(x)
            y = keras.layers.LayerNormalization(epsilon=1e-6)(y)
            y = keras.layers.Dense(4 * width, activation="gelu")(y)
            y = keras.layers.Dense(width)(y)
            y = layers.LayerScale(1e-2)(y)
            x = keras.layers.Add()([x, y])
    x = keras.layers.GlobalAveragePooling2D()(x)
    x = keras.layers.LayerNormalization(epsilon=1e-6)(x)
    return keras.Model(image, keras.layers.Dense(num_classes)(x))


def residual_stages(x, config, blocks):
    """Stages of basic blocks: the sides are halved as the width doubles."""
    width = 3 * config.units // 16
    x = convolution(x, width)
    for stage in range(3):
        for block in range(blocks):
            strides = 2 if stage and not block else 1
            y = convolution(x, width, strides=strides)
            y = convolution(y, width, activation=None)
            if x.shape != y.shape:
                x = convolution(x, width, 1, strides=strides, activation=None)
            x = keras.layers.Activation("relu")(keras.layers.Add()([x, y]))
        width *= 2
    return x


def convolution(x, width, side=3, *, strides=1, activation="relu"):
    """A convolution, and the batch's norm of what it finds."""
    x = keras.layers.Conv2D(
        width, side, strides=strides, padding="same", use_bias=False
    )(x)
    x = keras.layers.BatchNormalization()(x)
    return keras.layers.Activation(activation)(x) if activation else x


def mega_flops(model):
    """Millions of floating-point operations that one image takes."""
    spec = tf.TensorSpec((1, *model.input_shape[1:]))
    graph = tf.function(lambda x: model(x, training=False), autograph=False)
    profiler = tf.compat.v1.profiler
    options = profiler.ProfileOptionBuilder.float_operation()
    tf.get_logger().setLevel("ERROR")  # it warns of a function of its own
    found = profiler.profile(
        graph.get_concrete_function(spec).graph,
        options={**options, "output": "none"},
    )
    return found.total_float_ops / 1e6


VITS = {
    "vit": vit,
    "vit_conv_stem": vit_conv_stem,
    "small_data": small_data,
    "hybrid": hybrid,
}
MODELS = {**VITS, "resnet": resnet, "convnext": convnext}
