"""SAGAN: a generator and a discriminator, trained against each other."""

from collections.abc import Sequence
from typing import ClassVar

import keras
from keras import ops

from keras_attn.base import argument_checks
from keras_attn.models.sagan import checks
from keras_attn.models.sagan.adversarial_model import AdversarialModel
from keras_attn.models.sagan.adversarial_model import with_image
from keras_attn.models.sagan.discriminator import make_discriminator
from keras_attn.models.sagan.generator import make_generator
from keras_attn.models.sagan.presets import PRESETS
from keras_attn.ops.adversarial.row_noise import row_noise


@keras.saving.register_keras_serializable(package="keras_attn")
class SAGAN(AdversarialModel):
    """Makes images of noise, and learns it by deceiving a discriminator.

        L_D = mean max(0, 1 - D(x, y)) + mean max(0, 1 + D(G(z, y), y))
        L_G = - mean D(G(z, y), y)
        average = decay · average + (1 - decay) · weights of G

    Both networks are residual, with spectral normalisation and self-attention
    over the grid. `fit` takes a dataset of images, or of (images, labels) with
    `num_classes`; each step trains the discriminator, then the generator, by
    `compile(generator_optimizer, discriminator_optimizer)`. `generate` makes
    images, by the average of the generator's weights.

    Args:
        image_size: Pixels each way: a power of two from 32.
        channels: Of images.
        num_classes: Classes of images; None if there is one kind.
        noise_dim: Width of the noise.
        generator_width, discriminator_width: Channels of the finest grids.
        attention_resolutions: Sizes of the grids that attend to themselves,
            from 8 to half the image's; a quarter of it if None, () for none.
        attention_form: As `form` of `SpatialSelfAttention`.
        average_decay: Of the average; lower in the first steps.
        value_range: The lowest and the highest value of a pixel in training;
            0 and 1 if None, as `keras_attn.data` makes pixels.
        dtype: Dtype or policy of the layers.

    Call arguments:
        inputs: `{"noise": (batch, noise_dim)}`, and with classes `"class":
            (batch,)`.

    Returns:
        `{"image": (batch, height, width, channels), "score": (batch,),
        "average": (batch, height, width, channels)}`: what the generator makes,
        what the discriminator says of it, and what `generate` would make.

    Reference:
        Zhang et al. 2019. https://arxiv.org/abs/1805.08318
    """

    presets: ClassVar[dict[str, dict]] = PRESETS

    def __init__(
        self,
        image_size: int,
        *,
        channels: int = 3,
        num_classes: int | None = None,
        noise_dim: int = 128,
        generator_width: int = 64,
        discriminator_width: int = 64,
        attention_resolutions: Sequence[int] | None = None,
        attention_form: str = "released",
        average_decay: float = 0.999,
        value_range: Sequence[float] | None = None,
        dtype=None,
        **kwargs,
    ):
        checks.sizes(image_size, num_classes)
        value_range = checks.value_range(value_range)
        argument_checks.rate(average_decay, "average_decay")
        shared = dict(
            channels=channels,
            num_classes=num_classes,
            attention_resolutions=checks.resolutions(
                attention_resolutions, image_size
            ),
            attention_form=attention_form,
            value_range=value_range,
            dtype=dtype,
        )
        generator, average = (
            make_generator(
                image_size,
                noise_dim=noise_dim,
                width=generator_width,
                name=name,
                **shared,
            )
            for name in ("generator", "average")
        )
        discriminator = make_discriminator(
            image_size, width=discriminator_width, **shared
        )
        inputs = {
            name: keras.Input(x.shape[1:], dtype=x.dtype, name=name)
            for name, x in generator.input.items()
        }
        image = generator(inputs)
        outputs = {
            "image": image,
            "score": discriminator(with_image(inputs, image)),
            "average": average(inputs),
        }
        super().__init__(inputs, outputs, dtype=dtype, **kwargs)
        self.set_networks(generator, discriminator, average)
        self.value_range = value_range

    def generate(self, seeds, classes=None):
        """Make images, each from its own seed.

        Args:
            seeds: (batch,) integers from 0. An image depends on its seed and
                class alone.
            classes: (batch,) integers, if the model has classes.

        Returns:
            (batch, height, width, channels), in `value_range`.
        """
        return self.average(self.inputs_of(seeds, classes), training=False)

    def attention(self, seeds, classes=None, *, resolution: int | None = None):
        """Tell where each position looked while images were made.

        Args:
            seeds, classes: As for `generate`.
            resolution: Which of `attention_resolutions`; the first if None.

        Returns:
            (batch, resolution, resolution, rows, columns) weights: those of a
            position add up to 1 over the rows and columns of the keys.
        """
        found = {
            layer.name: layer
            for layer in self.average.layers
            if layer.name.startswith("attention_")
        }
        name = (
            next(iter(found), None)
            if resolution is None
            else f"attention_{resolution}"
        )
        if name not in found:
            raise ValueError(
                "`resolution` must be one at which there is attention. "
                f"Received: resolution={resolution}, and there is "
                f"{sorted(found) or 'none'}."
            )
        layer = found[name]
        below = keras.Model(self.average.input, layer.input)
        grid = below(self.inputs_of(seeds, classes), training=False)
        _, weights = layer(grid, return_attention_scores=True, training=False)
        return weights

    def inputs_of(self, seeds, classes=None) -> dict:
        """Return what the networks take: noise of seeds, and classes."""
        seeds, classes = checks.seeds_and_classes(
            seeds, classes, self.config["num_classes"]
        )
        inputs = {"noise": row_noise(seeds, self.config["noise_dim"])}
        if classes is None:
            return inputs
        return {**inputs, "class": ops.convert_to_tensor(classes, "int32")}
