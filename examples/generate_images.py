"""Make images of handwritten digits from noise, with and without attention.

    python -m examples.generate_images
    python -m examples.generate_images --seeds 1 --epochs 3
    python -m examples.generate_images --help

A SAGAN learns scikit-learn's digits, drawn at 32 pixels, and makes digits of
the classes that it is told. Two judges see its images at the digits' own 8 × 8
pixels. A small CNN, which knows the training images, has the features of the
Fréchet distance to real images of the test. A support vector machine, which
has seen only images that the SAGAN has not, says which digit each one shows.
Beside them stand images whose pixels are Gaussian, each with the mean and the
deviation that it has in the training images.

On 2026-11-17, over 3 seeds, the distance was 0.109 ± 0.030 of theirs with
attention and 0.102 ± 0.014 without, and 97.4 ± 1.6 % and 97.9 ± 1.8 % of the
images were named rightly: attention makes no difference that 3 seeds show. The
run took 22 minutes of one core's time.
"""

import dataclasses
import pathlib
import time

import keras
import numpy as np

from examples import flags
from examples.image_judges import CLASSES
from examples.image_judges import SIZE
from examples.image_judges import Judges
from examples.image_judges import arrays
from examples.image_judges import digits
from examples.image_judges import gaussian_pixels
from examples.image_judges import shrink
from examples.training_flags import Training
from keras_attn import data
from keras_attn import export
from keras_attn import models
from keras_attn import plot
from keras_attn import training

# Rows and columns: the middle, above, below and left of it, and a corner.
PIXELS = ((16, 16), (5, 16), (26, 16), (16, 8), (2, 2))


@dataclasses.dataclass(frozen=True)
class Config(Training):
    """Settings of the image generation example."""

    seeds: int = 3
    epochs: int = 10
    steps: int = 100  # of each epoch
    batch_size: int = 32
    width: int = 8  # of both networks
    noise_dim: int = 32
    attention: int = 16  # the size of the grid that attends to itself
    average_decay: float = 0.99
    generator_rate: float = 4e-4
    discriminator_rate: float = 8e-4
    num_images: int = 1_000  # that are judged
    split: str = "test"  # whose distance counts; "validation" for trials
    folder: str = "build/generate_images"


def train(config, seed, resolutions):
    """A SAGAN that attends at `resolutions`; return the seconds, too."""
    keras.utils.set_random_seed(seed)
    batches = data.batches(
        digits("train"),
        config.batch_size,
        shuffle=10_000,
        seed=seed,
        cache=True,
    )
    with config.scope():
        model = models.SAGAN(
            SIZE,
            channels=1,
            num_classes=CLASSES,
            noise_dim=config.noise_dim,
            generator_width=config.width,
            discriminator_width=config.width,
            attention_resolutions=resolutions,
            average_decay=config.average_decay,
        )
        model.compile(
            keras.optimizers.Adam(config.generator_rate, 0.0, 0.9),
            keras.optimizers.Adam(config.discriminator_rate, 0.0, 0.9),
            # XLA takes two minutes to compile both, and is slower on a CPU.
            jit_compile=config.jit_compile,
        )
    print(f"{model.count_params():,} parameters")
    start = time.perf_counter()
    training.fit(
        model,
        batches.repeat(),
        epochs=config.epochs,
        steps_per_epoch=config.steps,
        shuffle=False,
        checkpoints=config.checkpoints_of(seed, f"attention {resolutions}"),
        callbacks=[training.CompileNotice()],
        verbose=2,
    )
    return model, time.perf_counter() - start


def generate(model, number):
    """Small images, as many of each class, and their classes."""
    classes = np.arange(number) % CLASSES
    parts = np.array_split(np.arange(number), -(-number // 100))
    images = [model.generate(seeds, classes[seeds]) for seeds in parts]
    return shrink(np.concatenate(images)), classes


def draw(model, folder):
    """Write pictures of images of every class, and of where pixels looked."""
    folder.mkdir(parents=True, exist_ok=True)
    classes = np.arange(8 * CLASSES) % CLASSES
    images = model.generate(np.arange(len(classes)), classes)
    plot.grid(images, columns=CLASSES, labels=range(CLASSES)).savefig(
        folder / "images.png", dpi=150
    )
    weights = model.attention([0], [0])[0]
    plot.pixels(weights, images[0], PIXELS).savefig(
        folder / "attention.png", dpi=150
    )
    print(f"Pictures: {folder / 'images.png'}, {folder / 'attention.png'}")


def row(name, seed, distance, ratio, named, seconds):
    """One line of the table; what was not measured is None."""
    cells = [
        name,
        seed,
        f"{distance:.2f}",
        f"{ratio:.3f}",
        "–" if named is None else f"{named:.1%}",
        "–" if seconds is None else f"{seconds:.0f}",
    ]
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def with_spread(values, form, sign=""):
    """A mean over seeds, with their standard deviation if there are several."""
    text = f"{np.mean(values):{sign}{form}}"
    if len(values) == 1:
        return text
    return f"{text} ± {np.std(values, ddof=1):{form}}"


def main(config):
    """Train and judge; return (seeds, 2) ratios and shares named, by name."""
    judges = Judges(config.split)
    images, labels = arrays("train")
    rng = np.random.default_rng(0)
    pixels = gaussian_pixels(images, config.num_images, rng)
    yardstick = judges.distance(pixels)
    lines = [
        "| images | seed | Fréchet distance | ratio | named | seconds |",
        "| --- | --- | --- | --- | --- | --- |",
    ]

    def tell(name, seed, images, classes=None, seconds=None):
        distance = judges.distance(images)
        named = None if classes is None else judges.named(images, classes)
        ratio = distance / yardstick
        lines.append(row(name, seed, distance, ratio, named, seconds))
        print(lines[-1], flush=True)
        return ratio, named

    print(*lines, sep="\n")
    tell("Gaussian pixels", "–", pixels)
    each = config.num_images // CLASSES
    own = [
        gaussian_pixels(images[labels == x], each, rng) for x in range(CLASSES)
    ]
    tell(
        "Gaussian pixels of each class",
        "–",
        np.concatenate(own),
        np.repeat(np.arange(CLASSES), each),
    )
    tell("training images", "–", images, labels)

    grids = {"attention": (config.attention,), "no attention": ()}
    found = {name: [] for name in grids}
    kept = None
    for seed in range(config.seeds):
        for name, resolutions in grids.items():
            print(f"{name}, seed {seed}: ", end="", flush=True)
            model, seconds = train(config, seed, resolutions)
            made = generate(model, config.num_images)
            found[name].append(tell(name, seed, *made, seconds=seconds))
            if kept is None:
                kept = model
                draw(kept, pathlib.Path(config.folder))

    print("", *lines, "", sep="\n")
    found = {name: np.array(values) for name, values in found.items()}
    for name, values in found.items():
        ratios, named = values.T
        print(
            f"{name}: {with_spread(ratios, '.3f')} of the distance of Gaussian "
            f"pixels, {with_spread(named, '.1%')} named rightly"
        )
    ratios, named = (found["attention"] - found["no attention"]).T
    print(
        f"attention - no attention: {with_spread(ratios, '.3f', '+')} and "
        f"{with_spread(named, '.1%', '+')}"
    )
    version = export.export_model(kept, f"{config.folder}/generator")
    print(f"Exported: {version}")
    return found


if __name__ == "__main__":
    main(flags.parse(Config))
