"""Fine-tune a BERT on a task of GLUE, and export the classifier.

    python -m examples.finetune_bert --task glue/mrpc --weights FOLDER
    python -m examples.finetune_bert --task glue/cola --learning_rate 1e-3
    python -m examples.finetune_bert --help

`--task` is a name of TFDS: glue/cola, sst2, mrpc, qqp, stsb, mnli, qnli, rte
or wnli. TFDS downloads it, or finds it in `--data_dir`; `--files` takes a
folder of GLUE's own train.tsv and dev.tsv instead. `--weights` is a folder of
Hugging Face, such as bert-base-uncased, or a BERT that was saved as `.keras`,
whose tokenizer was saved in the folder `--tokenizer`. Without them a small
BERT begins at random, which needs a higher rate, and shows only that all works.

The metrics are GLUE's, on the validation split; the labels of the test split
are not public. On 400 sentences in GLUE's form, as its test writes them, a BERT
of one layer is trained and exported in half a minute of one core's time. What
pretrained weights reach on GLUE itself has not been measured here.
"""

import dataclasses
import pathlib

import keras

from examples import flags
from examples import glue_files
from examples.training_flags import Training
from keras_attn import data
from keras_attn import export
from keras_attn import models
from keras_attn import text
from keras_attn import training


@dataclasses.dataclass(frozen=True)
class Config(Training):
    """Settings of the fine-tuning example."""

    task: str = "glue/cola"
    data_dir: str = ""  # of TFDS; its own if empty
    files: str = ""  # a folder of GLUE's files, instead of TFDS
    weights: str = ""  # a folder of Hugging Face, or a .keras file
    tokenizer: str = ""  # a folder, beside a .keras file
    num_layers: int = 2  # from here on: of the BERT without weights
    num_heads: int = 4
    units: int = 64
    vocabulary_size: int = 8_000
    length: int = 128
    batch_size: int = 32
    epochs: int = 3
    learning_rate: float = 2e-5
    layer_decay: float = 1.0  # below 1, lower layers learn more slowly
    seed: int = 0
    folder: str = "build/finetune_bert"


def load(config, recipe, split):
    """The examples of a split: one text or two, and a label."""
    if config.files:
        return glue_files.read(config.files, config.task, split, recipe.labels)
    return data.from_tfds(
        config.task,
        split=split,
        data_dir=config.data_dir or None,
        **recipe.source,
    )


def learn_words(config, examples):
    """A tokenizer of the words of the training examples."""
    words = text.learn_vocabulary(
        examples.map(lambda x: x["text"] + " " + x.get("text_pair", "")),
        config.vocabulary_size,
        lowercase=True,
        verbose=0,
    )
    return text.WordTokenizer(words, lowercase=True)


def start(config, recipe, examples):
    """A tokenizer, and a BERT with the head of the task."""
    path = pathlib.Path(config.weights)
    if path.suffix == ".keras":
        tokenizer = text.Tokenizer.load(config.tokenizer)
        bert = keras.saving.load_model(path, compile=False)
        return tokenizer, bert.with_head(**recipe.model)
    if config.weights:
        tokenizer = text.Tokenizer.from_huggingface(path)
        return tokenizer, models.BERT.from_huggingface(path, **recipe.model)
    tokenizer = learn_words(config, examples)
    bert = models.BERT(
        tokenizer.vocabulary_size,
        num_layers=config.num_layers,
        num_heads=config.num_heads,
        units=config.units,
        max_length=config.length,
        **recipe.model,
    )
    return tokenizer, bert


def main(config):
    """Fine-tune, and return the metrics by the name of the split."""
    keras.utils.set_random_seed(config.seed)
    recipe = training.glue_recipe(config.task)
    examples = load(config, recipe, "train")
    steps = len(examples) // config.batch_size
    with config.scope():
        tokenizer, model = start(config, recipe, examples)
        # Embeddings are the lowest layer; the pooler is as new as the head.
        lowest = [model.embedding, model.segment_embedding, model.encoder]
        optimizer = recipe.optimizer(
            config.epochs * steps,
            learning_rate=config.learning_rate,
            layers=[lowest, *model.encoder.blocks],
            layer_decay=config.layer_decay,
        )
        model.compile(
            optimizer, **recipe.compile, jit_compile=config.jit_compile
        )
    print(f"{model.count_params():,} parameters, {steps} steps in an epoch")

    def batches(examples, **options):
        rows = data.text_classification(
            examples, tokenizer, max_length=config.length
        )
        size, length = config.batch_size, config.length
        return data.batches(rows, size, lengths=length, **options)

    training.fit(
        model,
        batches(examples, shuffle=10_000, seed=config.seed).repeat(),
        epochs=config.epochs,
        steps_per_epoch=steps,
        shuffle=False,
        checkpoints=config.checkpoints_of(),
    )
    found = {}
    for split in recipe.splits:
        held_out = batches(load(config, recipe, split), drop_remainder=False)
        scores = model.evaluate(held_out, verbose=0, return_dict=True)
        found[split] = scores
        said = [f"{name} {x:.3f}" for name, x in scores.items()]
        print(f"{config.task}, {split}: {', '.join(said)}")
    labels = {"labels": recipe.labels} if recipe.labels else {}
    version = export.export_model(
        model,
        pathlib.Path(config.folder) / "model",
        tokenizer=tokenizer,
        max_length=config.length,
        **labels,
    )
    print(f"Exported: {version}")
    return found


if __name__ == "__main__":
    main(flags.parse(Config))
