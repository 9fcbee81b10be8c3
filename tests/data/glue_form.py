"""Small files in the form in which GLUE is given away."""

import json
import zipfile

# What GLUE calls the folder of each task, and the names of its columns;
# CoLA's training files are without names.
FORMS = {
    "glue/cola": ("CoLA", "source label note sentence"),
    "glue/sst2": ("SST-2", "sentence label"),
    "glue/mrpc": ("MRPC", "Quality|#1 ID|#2 ID|#1 String|#2 String"),
    "glue/qqp": ("QQP", "id qid1 qid2 question1 question2 is_duplicate"),
    "glue/stsb": (
        "STS-B",
        "index genre filename year old_index source1 source2 sentence1 "
        "sentence2 score",
    ),
    "glue/mnli": (
        "MNLI",
        "index promptID pairID genre sentence1_binary_parse "
        "sentence2_binary_parse sentence1_parse sentence2_parse sentence1 "
        "sentence2 label1 gold_label",
    ),
    "glue/qnli": ("QNLI", "index question sentence label"),
    "glue/rte": ("RTE", "index sentence1 sentence2 label"),
    "glue/wnli": ("WNLI", "index sentence1 sentence2 label"),
}
_ZIPS = "https://dl.fbaipublicfiles.com/glue/data/"
_TEXTS = ("sentence1", "question1", "#1 String")
_PAIRS = ("sentence2", "question2", "#2 String")
_LABELS = ("label", "is_duplicate", "score", "gold_label", "Quality")


def names_of(task):
    """Names of a task's columns."""
    names = FORMS[task][1]
    return names.split("|" if "|" in names else None)


def write_files(folder, task, splits):
    """Write the files of a task.

    Args:
        folder: Where its folder goes.
        task: One of `FORMS`.
        splits: By the name of a file, without `.tsv`, rows of one text or two
            and a label as GLUE writes it.

    Returns:
        The folder of the task.
    """
    names = names_of(task)
    folder = folder / FORMS[task][0]
    folder.mkdir(parents=True)
    for split, rows in splits.items():
        # Five people have judged what is not for training.
        judges = [f"label{k}" for k in range(2, 6)]
        own = names
        if task == "glue/mnli" and split != "train":
            own = [*names[:-1], *judges, names[-1]]
        lines = [] if task == "glue/cola" else [own]
        for number, row in enumerate(rows):
            lines.append([_cell(name, number, row, own) for name in own])
        text = "".join("\t".join(line) + "\n" for line in lines)
        (folder / f"{split}.tsv").write_text(text, encoding="utf-8")
    return folder


def put_into_tfds(data_dir, task, folder):
    """Put files where TFDS looks for what it has downloaded.

    Its own builder then reads them, as it would read GLUE's.

    Args:
        data_dir: Of TFDS.
        task: One of `FORMS`.
        folder: From `write_files`.
    """
    if task == "glue/mrpc":
        _put_mrpc(data_dir, folder)
        return
    name = "QNLIv2" if task == "glue/qnli" else folder.name
    with zipfile.ZipFile(_cached(data_dir, f"{_ZIPS}{name}.zip"), "w") as kept:
        for path in folder.glob("*.tsv"):
            kept.write(path, f"{folder.name}/{path.name}")
        # One line without its label, in a file with names, CoLA's too.
        names = [n for n in names_of(task) if n not in _LABELS]
        rows = "\t".join(names) + "\n" + "\t".join("?" for _ in names) + "\n"
        for split in ("test", "test_matched", "test_mismatched"):
            kept.writestr(f"{folder.name}/{split}.tsv", rows)


def _put_mrpc(data_dir, folder):
    # TFDS has it from Microsoft: one file, and which of it is for evaluation.
    from tensorflow_datasets.text import glue

    head, *train = (folder / "train.tsv").read_text().splitlines()
    held_out = (folder / "dev.tsv").read_text().splitlines()[1:]
    # A number belongs to one pair.
    held_out = [line.replace("\tid", "\tdev") for line in held_out]
    rows = "".join(f"{line}\n" for line in (head, *train, *held_out))
    ids = "".join("\t".join(x.split("\t")[1:3]) + "\n" for x in held_out)
    for url, text in (
        (glue._MRPC_TRAIN, "\ufeff" + rows),
        (glue._MRPC_TEST, f"\ufeff{head}\n{train[0]}\n"),
        (glue._MRPC_DEV_IDS, ids),
    ):
        _cached(data_dir, url).write_text(text, encoding="utf-8")


def _cached(data_dir, url):
    from tensorflow_datasets.core.download import checksums
    from tensorflow_datasets.core.download import resource

    checksum = checksums.get_all_url_infos()[url].checksum
    path = data_dir / "downloads" / resource.get_dl_fname(url, checksum)
    path.parent.mkdir(parents=True, exist_ok=True)
    note = {"dataset_names": ["glue"], "urls": [url]}
    path.with_name(f"{path.name}.INFO").write_text(json.dumps(note))
    return path


def _cell(name, number, row, names):
    *texts, label = row
    if name in _LABELS:
        return label
    if name in _PAIRS or (name == "sentence" and "question" in names):
        return texts[1]
    if name in _TEXTS or name in ("sentence", "question"):
        return texts[0]
    return f"id{number}" if "ID" in name else str(number)
