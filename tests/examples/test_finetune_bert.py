import numpy as np
import pytest

from examples import finetune_bert
from examples import glue_files
from keras_attn import export
from keras_attn import models
from keras_attn import text
from keras_attn import training
from keras_attn.training.recipes.glue import TASKS
from tests.data import glue_form
from tests.models import peers

# How GLUE's files write the classes; others have their numbers.
NAMED = ("glue/mnli", "glue/qnli", "glue/rte")


def splits_of(task, make_row):
    held_out = ["dev"]
    if task == "glue/mnli":
        held_out = ["dev_matched", "dev_mismatched"]
    return {
        name: [make_row(name, number) for number in range(5)]
        for name in ("train", *held_out)
    }


@pytest.fixture
def make_glue(tmp_path):
    """Write files of a task, for TFDS and beside it."""

    def make(task, splits):
        folder = glue_form.write_files(tmp_path / "files", task, splits)
        glue_form.put_into_tfds(tmp_path / "tfds", task, folder)
        return {"data_dir": str(tmp_path / "tfds"), "files": str(folder)}

    return make


@pytest.mark.parametrize("task", TASKS)
def test_tfds_and_its_own_files_give_the_same_examples(task, make_glue):
    texts, labels = TASKS[task]

    def row(split, number):
        said = [f'"{split}" {number} {name}, ça va?' for name in texts]
        if not labels:
            return [*said, f"{number * 0.8:.3f}"]
        label = number % len(labels)
        return [*said, labels[label] if task in NAMED else str(label)]

    found = make_glue(task, splits_of(task, row))
    recipe = training.glue_recipe(task)
    for split in ("train", *recipe.splits):
        one, other = (
            [
                tuple(example[name] for name in recipe.source["features"])
                for example in finetune_bert.load(
                    finetune_bert.Config(task=task, **{flag: found[flag]}),
                    recipe,
                    split,
                ).as_numpy_iterator()
            ]
            for flag in ("data_dir", "files")
        )
        assert sorted(one) == sorted(other)
        name = split.replace("validation", "dev")
        wanted = [
            (
                *(said.encode() for said in row(name, number)[:-1]),
                number % len(labels) if labels else np.float32(number * 0.8),
            )
            for number in range(5)
        ]
        assert other == wanted


def test_a_line_that_lacks_a_column_is_named(tmp_path):
    (tmp_path / "dev.tsv").write_text("sentence\tlabel\nfine\t1\nno tab\n")
    labels = TASKS["glue/sst2"][1]
    with pytest.raises(ValueError, match=r"dev.tsv, line 3.*\('sentence', "):
        glue_files.read(tmp_path, "glue/sst2", "validation", labels)


def test_a_saved_bert_gets_the_head_of_the_task(tmp_path):
    tokenizer = text.WordTokenizer(
        ["[PAD]", "[UNK]", "[START]", "[END]", "[MASK]", "yes"]
    )
    tokenizer.save(tmp_path / "words")
    bert = models.BERT(
        6, num_layers=1, num_heads=2, units=8, max_length=7, head="masked_lm"
    )
    bert.save(tmp_path / "bert.keras")
    config = finetune_bert.Config(
        weights=str(tmp_path / "bert.keras"),
        tokenizer=str(tmp_path / "words"),
    )
    recipe = training.glue_recipe("glue/mnli")
    loaded, model = finetune_bert.start(config, recipe, None)
    assert loaded.vocabulary_size == 6
    assert model.output_shape == (None, 3)
    np.testing.assert_array_equal(
        model.embedding.embeddings, bert.embedding.embeddings
    )


@pytest.mark.peers
def test_a_folder_of_hugging_face_gets_the_head_of_the_task(tmp_path):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "yes", "##!"]
    (tmp_path / "vocab.txt").write_text("".join(f"{x}\n" for x in words))
    peer = peers.make(
        "BertModel",
        peers.transformers().BertConfig(
            vocab_size=7,
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=10,
        ),
        tmp_path,
    )
    config = finetune_bert.Config(weights=str(tmp_path))
    recipe = training.glue_recipe("glue/stsb")
    tokenizer, model = finetune_bert.start(config, recipe, None)
    assert tokenizer(["yes"]).numpy().tolist() == [[5]]
    assert model.output_shape == (None, 1)
    np.testing.assert_array_equal(
        model.embedding.embeddings,
        peer.embeddings.word_embeddings.weight.detach().numpy(),
    )


@pytest.mark.slow
def test_learns_which_sentences_are_acceptable(make_glue, tmp_path):
    rng = np.random.default_rng(0)
    animals = "dog cat horse bird fish cow sheep mouse goat duck".split()
    verbs = "sees hears likes knows hits feeds wants helps".split()

    def row(split, number):
        one, other = rng.choice(animals, 2)
        words = ["the", one, rng.choice(verbs), "the", other]
        if number % 3:
            return [" ".join(words) + " .", "1"]
        # What is not acceptable has its verb elsewhere.
        words.insert(rng.choice([0, 1, 4]), words.pop(2))
        return [" ".join(words) + " .", "0"]

    splits = {
        name: [row(name, number) for number in range(size)]
        for name, size in (("train", 400), ("dev", 60))
    }
    found = make_glue("glue/cola", splits)
    config = finetune_bert.Config(
        task="glue/cola",
        data_dir=found["data_dir"],
        length=12,
        num_layers=1,
        epochs=12,
        learning_rate=5e-3,
        layer_decay=0.9,
        folder=str(tmp_path / "build"),
    )
    scores = finetune_bert.main(config)
    # Who guesses has 0.
    assert scores["validation"]["matthews"] > 0.7
    (version,) = (tmp_path / "build" / "model").iterdir()
    served = export.LoadedModel(version)
    answers = served.run(
        "classify",
        {"text": np.array([b"the dog sees the cat .", b"sees the dog ."])},
    )
    served.close()
    assert answers["label"][0] == b"acceptable"
    assert answers["scores"].shape == (2, 2)
