"""Show, Attend and Tell: write what stands in a picture, and where it looked.

    python -m examples.caption_images
    python -m examples.caption_images --help

The pictures are scenes of handwritten digits, "a two left of a nine above a
four", those of the test made of digits that training never showed. It prints
how many captions are right to the letter and how often the heaviest cell of a
number word lies in that digit, draws one caption over its picture, and exports
the captioner. On 2026-11-17, 2 cores, 3 min 5 s: 92.7 % of 1,000 captions are
right, 96.3 % of their number words point at their digit (by chance 6.2 %).
"""

import dataclasses
import pathlib

import keras
import numpy as np

from examples import flags
from keras_attn import data
from keras_attn import export
from keras_attn import layers
from keras_attn import models
from keras_attn import plot
from keras_attn import text
from keras_attn import training
from keras_attn.data.builtin.scenes import NUMBERS

LENGTH = 12  # of a caption, its end included


@dataclasses.dataclass(frozen=True)
class Config:
    """Settings of the captioning example."""

    num_scenes: int = 20_000
    units: int = 128
    dropout: float = 0.2
    # Most cells of a scene are empty: attention should not be even.
    doubly_stochastic: float = 0.0
    batch_size: int = 64
    steps: int = 1_500
    learning_rate: float = 2e-3
    num_held_out: int = 1_000
    seed: int = 0
    folder: str = "build/caption_images"


def learn_words(scenes):
    """A tokenizer of the captions' words."""
    captions = scenes.map(lambda scene: scene["caption"])
    words = text.learn_vocabulary(captions, 100, kind="word", verbose=0)
    return text.WordTokenizer(words)


def build_encoder(image_shape):
    """Convolutions to a grid of cells, one for each place of a digit.

    A cell has features of the digit that stands there, a learned position, and
    a few features of what is around it, which tell the ends of a chain. Their
    mean, which the decoder starts from, tells which digits there are and hardly
    where: for that it has to attend.
    """
    image = keras.Input(image_shape)
    x = keras.layers.Conv2D(64, 4, strides=4, activation="relu")(image)
    x = keras.layers.Conv2D(96, 2, strides=2, activation="relu")(x)
    grid = x.shape[1:3]
    x = keras.layers.Reshape((grid[0] * grid[1], -1))(x)
    x = layers.LearnedPosition(x.shape[1], 32, merge="concat")(x)
    x = around = keras.layers.Reshape((*grid, -1))(x)
    for width in (64, 64, 8):
        around = keras.layers.Conv2D(
            width, 3, padding="same", activation="relu"
        )(around)
    x = keras.layers.Concatenate()([x, around])
    return keras.Model(image, x, name="encoder")


def train(config):
    """Learn from the training split: the model and its tokenizer."""
    keras.utils.set_random_seed(config.seed)
    scenes = data.digit_scenes(num_scenes=config.num_scenes, seed=config.seed)
    tokenizer = learn_words(scenes)
    image_shape = scenes.element_spec["image"].shape
    batches = data.batches(
        data.captioning(scenes, tokenizer, size=image_shape[0], channels=1),
        config.batch_size,
        lengths=LENGTH,
        cache=True,
        shuffle=10_000,
        seed=config.seed,
    )
    model = models.RNNCaptioner(
        tokenizer.vocabulary_size,
        units=config.units,
        encoder=build_encoder(image_shape),
        dropout=config.dropout,
        doubly_stochastic=config.doubly_stochastic,
    )
    rate = training.WarmupCosine(
        config.learning_rate, config.steps // 10, config.steps
    )
    model.compile(
        optimizer=keras.optimizers.Adam(rate, clipnorm=1.0),
        loss=training.MaskedCrossentropy(),
        metrics=[training.MaskedAccuracy()],
        jit_compile=False,
    )
    print(f"{model.count_params():,} parameters, a grid of {model.grid}")
    model.fit(batches.repeat(), steps_per_epoch=config.steps, shuffle=False)
    return model, tokenizer


def exact_match(captioner, scenes):
    """The share of captions that are right to the letter."""
    captions = captioner.caption([scene["image"] for scene in scenes])["text"]
    wanted = [scene["caption"].decode() for scene in scenes]
    for right, caption in list(zip(wanted, captions, strict=True))[:3]:
        print(f"  {right} -> {caption}")
    return np.mean(captions == np.array(wanted, object))


def pointing(model, tokenizer, scenes):
    """How often the heaviest cell of a number word lies in its digit.

    Returns:
        The share of the true captions' number words, and what a cell drawn at
        random would reach.
    """
    images = np.stack([scene["image"] for scene in scenes]) / 255
    captions = [scene["caption"] for scene in scenes]
    fed = tokenizer.to_dense(captions, LENGTH, end=False)
    weights = np.array(model.alignment({"image": images}, fed))
    rows, columns = model.grid
    height, width = images.shape[1:3]
    centres = np.stack(
        np.meshgrid(
            (np.arange(rows) + 0.5) * height / rows,
            (np.arange(columns) + 0.5) * width / columns,
            indexing="ij",
        ),
        axis=-1,
    ).reshape(-1, 2)
    hits, chances = [], []
    for scene, looked in zip(scenes, weights, strict=True):
        for place, word in enumerate(scene["caption"].decode().split()):
            if word in NUMBERS:
                start, end = np.split(scene["places"][place], 2)
                inside = np.all((centres >= start) & (centres < end), axis=1)
                hits.append(inside[looked[place].argmax()])
                chances.append(inside.mean())
    return np.mean(hits), np.mean(chances)


def main(config):
    """Train, and return the shares of captions and of words that are right."""
    model, tokenizer = train(config)
    held_out = data.digit_scenes("test", num_scenes=config.num_held_out)
    scenes = list(held_out.as_numpy_iterator())
    captioner = export.servable(model, tokenizer=tokenizer, max_length=LENGTH)
    right = exact_match(captioner, scenes)
    pointed, chance = pointing(model, tokenizer, scenes)
    print(f"{len(scenes)} new scenes: {right:.1%} of the captions are right")
    print(f"pointing on number words: {pointed:.1%} (chance {chance:.1%})")

    folder = pathlib.Path(config.folder)
    folder.mkdir(parents=True, exist_ok=True)
    picture = max(scenes, key=lambda scene: len(scene["caption"]))["image"]
    answer = captioner.attention([picture])
    figure = plot.over_image(answer, picture)
    figure.savefig(folder / "caption.png", dpi=150)
    version = export.export_model(captioner, folder / "captioner")
    print(f"Attention weights: {folder / 'caption.png'}; exported: {version}")
    return right, pointed


if __name__ == "__main__":
    main(flags.parse(Config))
