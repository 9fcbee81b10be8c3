"""Read GLUE from the files in which it is given away."""

import csv
import pathlib

import numpy as np

from keras_attn import data

# Names of the texts and of the label; CoLA's files have no names.
COLUMNS = {
    "glue/cola": ("sentence", "label"),
    "glue/sst2": ("sentence", "label"),
    "glue/mrpc": ("#1 String", "#2 String", "Quality"),
    "glue/qqp": ("question1", "question2", "is_duplicate"),
    "glue/stsb": ("sentence1", "sentence2", "score"),
    "glue/mnli": ("sentence1", "sentence2", "gold_label"),
    "glue/qnli": ("question", "sentence", "label"),
    "glue/rte": ("sentence1", "sentence2", "label"),
    "glue/wnli": ("sentence1", "sentence2", "label"),
}
COLA = ("source", "label", "note", "sentence")


def read(folder, task, split, labels):
    """The examples of a split, as `data.from_tfds` gives them.

    Args:
        folder: Holds `train.tsv`, `dev.tsv` and the like, of one task.
        task: Such as "glue/cola".
        split: "train", "validation", or one of MNLI's.
        labels: Names of the classes; None for a regression.
    """
    name = split.replace("validation", "dev")
    path = pathlib.Path(folder) / f"{name}.tsv"
    fields = COLA if task == "glue/cola" else None
    *texts, label = COLUMNS[task]
    columns = {name: [] for name in ("text", "text_pair")[: len(texts)]}
    numbers = []
    with path.open(encoding="utf-8-sig", newline="") as lines:
        # Quotes are characters like any other, as GLUE wants it.
        table = csv.DictReader(
            lines, fields, delimiter="\t", quoting=csv.QUOTE_NONE
        )
        for row in table:
            given = [row.get(x) for x in (*texts, label)]
            if None in given:
                raise ValueError(
                    f"{path}, line {table.line_num}: {COLUMNS[task]} are "
                    f"wanted. Received: {row}"
                )
            for column, cell in zip(columns.values(), given, strict=False):
                column.append(cell)
            numbers.append(to_number(given[-1], labels))
    kind = "float32" if labels is None else "int32"
    return data.arrays(**columns, label=np.array(numbers, kind))


def to_number(label, labels):
    """A label as a number: some files have names of classes, some numbers."""
    if labels is None:
        return float(label)
    return labels.index(label) if label in labels else int(label)
