"""How DeiT III trains a vision transformer."""

import dataclasses

import keras

from keras_attn.base import argument_checks
from keras_attn.training.losses.multi_label_crossentropy import (
    MultiLabelCrossentropy,
)
from keras_attn.training.optimizers.lamb import NOT_ADAPTED
from keras_attn.training.optimizers.lamb import Lamb
from keras_attn.training.schedules.warmup_cosine import WarmupCosine

# Blocks, and of the published commands, 800 epochs of ImageNet-1k: the side of
# the images, the highest learning rate and stochastic depth. There is none for
# M, which gets what lies between its neighbours.
SIZES = {
    "deit3-s16": (12, 224, 4e-3, 0.05),
    "deit3-m16": (12, 224, 3e-3, 0.1),
    "deit3-b16": (12, 192, 3e-3, 0.2),
    "deit3-l16": (24, 192, 3e-3, 0.45),
    "deit3-h14": (32, 160, 3e-3, 0.6),
}
EPOCHS, WARMUP_EPOCHS = 800, 5
BATCH_SIZE = 2048
FINAL_RATE = 1e-5
WEIGHT_DECAY = 0.05
CLIP_NORM = 1.0
# Positions and class tokens, beside what LAMB leaves out by itself.
EXCLUDE = (*NOT_ADAPTED, "embeddings")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What a training is made of.

    Args:
        batch_size: Rows of a batch.
        model: Arguments for `models.ViT.from_preset`.
        compile: Arguments for the model's `compile`.
        three_augment: Arguments for `data.three_augment`.
        mixup_or_cutmix: Arguments for `data.mixup_or_cutmix`.
    """

    batch_size: int
    model: dict
    compile: dict
    three_augment: dict
    mixup_or_cutmix: dict


def deit3_recipe(
    preset: str,
    steps_per_epoch: int,
    *,
    epochs: int = EPOCHS,
    warmup_epochs: int = WARMUP_EPOCHS,
) -> Recipe:
    """What DeiT III trains a size of ViT with, in the paper's numbers.

        loss = BCE(sigmoid(logits), [class is in the image]),  by LAMB
        rate(n) = peak n / warmup, then half a cosine to 1e-5

        recipe = deit3_recipe("deit3-s16", steps_per_epoch=625)
        model = models.ViT.from_preset("deit3-s16", **recipe.model)
        model.compile(**recipe.compile)
        batches = data.augment(
            batches, data.three_augment(**recipe.three_augment))
        batches = data.mixup_or_cutmix(
            batches, 1000, **recipe.mixup_or_cutmix)

    Stochastic depth is one rate for all blocks, the higher the larger the
    model. Of the paper, repeated augmentation and the resized crop are not
    part of it: `three_augment` has the simple random crop.

    Args:
        preset: A DeiT III preset of `models.ViT`.
        steps_per_epoch: Batches of an epoch; the paper's have 2,048 rows.
        epochs, warmup_epochs: How long the rate falls, and rises before.

    Returns:
        A `Recipe` of dictionaries. Labels are (batch, classes), those of
        validation too: `tf.one_hot`.

    Reference:
        Touvron et al. 2022, "DeiT III: Revenge of the ViT", section 3, and
        its code for the numbers. https://arxiv.org/abs/2204.07118
    """
    argument_checks.choice(preset, "preset", SIZES)
    argument_checks.integer(steps_per_epoch, "steps_per_epoch", at_least=1)
    num_layers, image_size, peak, drop = SIZES[preset]
    rate = WarmupCosine(
        peak,
        warmup_epochs * steps_per_epoch,
        epochs * steps_per_epoch,
        final=FINAL_RATE,
    )
    optimizer = Lamb(
        rate,
        weight_decay=WEIGHT_DECAY,
        exclude=EXCLUDE,
        global_clipnorm=CLIP_NORM,
    )
    return Recipe(
        batch_size=BATCH_SIZE,
        model={
            "image_size": image_size,
            "stochastic_depth": (drop,) * num_layers,
        },
        compile={
            "optimizer": optimizer,
            "loss": MultiLabelCrossentropy(),
            "metrics": [keras.metrics.CategoricalAccuracy(name="accuracy")],
        },
        three_augment={"padding": 4, "flip": True, "jitter": 0.3},
        mixup_or_cutmix={"mixup_alpha": 0.8, "cutmix_alpha": 1.0},
    )
