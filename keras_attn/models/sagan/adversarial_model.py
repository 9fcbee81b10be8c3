"""A model of two networks that are trained against each other."""

import keras
from keras import ops

from keras_attn.models.image_size import check_image_size
from keras_attn.models.preset_model import PresetModel
from keras_attn.models.sagan import checks
from keras_attn.ops.adversarial import hinge
from keras_attn.ops.adversarial.gradients import loss_and_gradients

# Of the optimizers that nobody chose: the discriminator learns faster.
_RATES = {"generator": 1e-4, "discriminator": 4e-4}


class AdversarialModel(PresetModel):
    """A generator and a discriminator, each with an optimizer of its own.

        L_D = mean max(0, 1 - D(x, y)) + mean max(0, 1 + D(G(z, y), y))
        L_G = - mean D(G(z, y), y)
        average = decay · average + (1 - decay) · weights of G

    A step trains the discriminator, then the generator, on noise and classes
    that are drawn anew. The constructor of a subclass calls `set_networks`;
    its `config` has `noise_dim`, `num_classes` and `average_decay`.

    Reference:
        Zhang et al. 2019, section 3, equation 4.
        https://arxiv.org/abs/1805.08318; two time scales, Heusel et al. 2017.
        https://arxiv.org/abs/1706.08500
    """

    def set_networks(self, generator, discriminator, average):
        """Keep the networks: functional models.

        Args:
            generator: `{"noise": …}`, with classes also "class", to images.
            discriminator: `{"image": …}`, likewise, to (batch,) scores.
            average: Another generator, which holds the average of weights.
        """
        self.generator = generator
        self.discriminator = discriminator
        average.trainable = False
        average.set_weights(generator.get_weights())
        self.average = average
        self.seed_generator = keras.random.SeedGenerator()
        self.generator_loss = keras.metrics.Mean(name="generator_loss")
        self.discriminator_loss = keras.metrics.Mean(name="discriminator_loss")

    def compile(
        self,
        generator_optimizer=None,
        discriminator_optimizer=None,
        *,
        run_eagerly: bool = False,
        steps_per_execution: int = 1,
        jit_compile="auto",
    ):
        """Choose what trains the two networks.

        Args:
            generator_optimizer: `optimizer` from then on, which callbacks
                change; Adam at 1e-4, β 0 and 0.9, if not given.
            discriminator_optimizer: Adam at 4e-4 if not given.
            run_eagerly, steps_per_execution, jit_compile: As for any model.
        """
        given = {
            "generator": generator_optimizer,
            "discriminator": discriminator_optimizer,
        }
        made = {}
        for name, optimizer in given.items():
            optimizer = keras.optimizers.get(
                optimizer or keras.optimizers.Adam(_RATES[name], 0.0, 0.9)
            )
            half = self.dtype_policy.name == "mixed_float16"
            scales = isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
            if half and not scales:
                optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
            # Each has its own weights; Keras would give one of them all.
            optimizer.build(getattr(self, name).trainable_variables)
            made[name] = optimizer
        super().compile(
            made["generator"],
            run_eagerly=run_eagerly,
            steps_per_execution=steps_per_execution,
            jit_compile=jit_compile,
        )
        self.discriminator_optimizer = made["discriminator"]

    def get_compile_config(self):
        if not self.compiled:
            return {}
        serialize = keras.saving.serialize_keras_object
        return {
            "generator_optimizer": serialize(self.optimizer),
            "discriminator_optimizer": serialize(self.discriminator_optimizer),
            "run_eagerly": self.run_eagerly,
            "steps_per_execution": self.steps_per_execution,
            "jit_compile": self.jit_compile,
        }

    def compile_from_config(self, config):
        self.compile(**keras.saving.deserialize_keras_object(config))

    def train_step(self, data):
        real = self._images(data)
        rows = ops.shape(real["image"])[0]
        made_from = self._draw(rows)
        made = self.generator(made_from, training=True)
        both = {
            name: ops.concatenate([ops.cast(real[name], x.dtype), x])
            for name, x in with_image(made_from, made).items()
        }

        def discriminator_loss():
            score = self.discriminator(both, training=True)
            return hinge.discriminator_loss(score[:rows], score[rows:])

        self._improve("discriminator", discriminator_loss)
        made_from = self._draw(rows)

        def generator_loss():
            image = self.generator(made_from, training=True)
            # Not in training, which would improve its spectral norms.
            return hinge.generator_loss(
                self.discriminator(with_image(made_from, image))
            )

        self._improve("generator", generator_loss)
        self._update_average()
        return {each.name: each.result() for each in self._trackers()}

    def test_step(self, data):
        real = self._images(data)
        made_from = self._draw(ops.shape(real["image"])[0])
        made = self.generator(made_from)
        real, fake = (
            self.discriminator(images)
            for images in (real, with_image(made_from, made))
        )
        losses = (
            hinge.generator_loss(fake),
            hinge.discriminator_loss(real, fake),
        )
        for metric, loss in zip(self._trackers(), losses, strict=True):
            metric.update_state(loss)
        return {each.name: each.result() for each in self._trackers()}

    def _trackers(self):
        return self.generator_loss, self.discriminator_loss

    def _draw(self, rows):
        """Noise, and classes that are all as likely."""
        noise = keras.random.normal(
            (rows, self.config["noise_dim"]), seed=self.seed_generator
        )
        inputs = {"noise": noise}
        number = self.config["num_classes"]
        if number is not None:
            inputs["class"] = keras.random.randint(
                (rows,), 0, number, seed=self.seed_generator
            )
        return inputs

    def _improve(self, name, loss):
        """Train one of the two by a function that returns its loss."""
        generator = name == "generator"
        optimizer = (
            self.optimizer if generator else self.discriminator_optimizer
        )
        weights = getattr(self, name).trainable_variables
        value, gradients = loss_and_gradients(
            loss, weights, optimizer.scale_loss
        )
        optimizer.apply(gradients, weights)
        getattr(self, f"{name}_loss").update_state(value)

    def _update_average(self):
        step = ops.cast(self.optimizer.iterations, "float32")
        decay = ops.minimum(
            self.config["average_decay"], (1 + step) / (10 + step)
        )
        for mean, weight in zip(
            self.average.weights, self.generator.weights, strict=True
        ):
            share = ops.cast(1 - decay, mean.dtype)
            mean.assign_add(share * (weight - mean))

    def _images(self, data):
        """What the discriminator takes of a batch of the dataset."""
        images, labels = checks.batch(data, self.config["num_classes"])
        check_image_size(
            images, self.discriminator.input["image"].shape, "Resize them."
        )
        named = {"image": images}
        return named if labels is None else {**named, "class": labels}


def with_image(inputs: dict, image) -> dict:
    """Put images in the place of the noise that they were made of."""
    others = {name: x for name, x in inputs.items() if name != "noise"}
    return {"image": image, **others}
