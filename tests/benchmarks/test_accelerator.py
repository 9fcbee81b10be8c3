import dataclasses

import pytest

from benchmarks import accelerator
from keras_attn.training.accelerator.check import AcceleratorCheck


def test_a_row_gives_memory_in_gibibytes():
    found = AcceleratorCheck(
        "a100",
        True,
        "",
        61.7,
        3 * 2**30,
        2**30,
        2**31,
        bytes_moved=1555 * 10**7,
        flops=1,
        largest_batch=12,
    )
    cells = accelerator.row("GPT-2 small", "training", "tiled", found)
    assert cells == (
        "| GPT-2 small | training | 8 × 1,024 | a100 | tiled | 2.00 | 1.00 | "
        "3.00 | 10.0 | 12 | 12,288 |"
    )
    assert accelerator.TITLES[5:8] == (
        "arguments, GiB",
        "temporary, GiB",
        "total, GiB",
    )
    looped = dataclasses.replace(found, num_loops=1, largest_batch=None)
    line = accelerator.row("GPT-2 small", "training", None, looped)
    assert line.endswith("| auto | 2.00 | 1.00 | 3.00 | > 10.0 | – | – |")
    assert line.count("|") == len(accelerator.TITLES) + 1


def test_a_refusal_has_no_memory():
    found = AcceleratorCheck("v5e", False, "out of HBM", 5.0)
    line = accelerator.row("BERT base", "training", "dense", found)
    assert line.endswith("| v5e | dense | – | – | – | does not fit | – | – |")
    fault = dataclasses.replace(found, reason="INTERNAL: no tile sizes")
    line = accelerator.row("BERT base", "training", "dense", fault)
    assert "| the compiler fails |" in line


def test_of_a_refusal_the_compilers_files_are_not_kept(asked, monkeypatch):
    long = 'INTERNAL: no tiles, metadata={source_file="/home/x.py"}\nmore'
    found = AcceleratorCheck("v5e", False, long, 5.0)
    monkeypatch.setattr(accelerator, "check", lambda *_, **__: found)
    accelerator.main([*FUSED, "BERT base"])
    (kept,) = accelerator.KEPT.iterdir()
    assert "no tiles" in kept.read_text() and "home" not in kept.read_text()


def test_only_a_tpu_has_the_kernel_and_only_some_models_are_told():
    ask = accelerator.attentions_of
    assert ask("BERT base", "training", "v5e") == ("dense", "tiled", "fused")
    assert ask("BERT base", "training", "a100") == ("dense", "tiled")
    assert ask("Bahdanau 2015", "training", "v5e") == (None,)
    assert ask("GPT-2 small", "decode", "v5e") == (None,)


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What was asked of compilers that need a GiB for each row."""
    asked = []

    def check(name, target, **options):
        asked.append((name, target, options))
        total = options["rows"] * 2**30
        fits = total <= 15 * 2**30
        return AcceleratorCheck(
            target, fits, "" if fits else "out of HBM", 1.0, total_bytes=total
        )

    monkeypatch.setattr(accelerator, "check", check)
    monkeypatch.setattr(accelerator, "KEPT", tmp_path / "kept")
    _set_versions(monkeypatch, "8")
    return asked


def _set_versions(monkeypatch, version):
    monkeypatch.setattr(
        accelerator.importlib.metadata, "version", lambda name: version
    )


FUSED = ["--targets", "v5e", "--attentions", "fused", "--models"]


def test_what_was_found_is_kept_for_the_same_versions(monkeypatch, asked):
    options = [*FUSED, "BERT base", "GPT-2 small"]
    first = accelerator.main(options)
    assert len(asked) == 3  # a training step each, and one of decoding
    assert asked[0][2]["attention"] == "fused"
    assert accelerator.main(options) == first and len(asked) == 3
    assert accelerator.main([*options, "--layers", "2"]) != first
    assert len(asked) == 6
    _set_versions(monkeypatch, "9")
    accelerator.main(options)
    assert len(asked) == 9


def test_the_largest_batch_begins_with_what_is_kept(asked):
    options = [*FUSED, "GPT-2 small"]
    accelerator.main(options)
    assert [each[2]["rows"] for each in asked] == [8, 8]
    lines = accelerator.main([*options, "--largest_batch"])
    # Twice the rows do not fit, half of them tell the slope.
    training = [x[2]["rows"] for x in asked if x[2]["step"] == "training"]
    assert training == [8, 16, 4, 15]
    (line,) = [line for line in lines if "| training |" in line]
    assert line.endswith("| 15 | 15,360 |")


def test_of_what_is_kept_a_table_is_made_without_a_compiler(asked):
    options = [*FUSED, "GPT-2 small", "BERT base"]
    accelerator.main([*FUSED, "GPT-2 small"])
    known = len(asked)
    lines = accelerator.main([*options, "--kept", "--largest_batch"])
    assert len(asked) == known
    rows = [line for line in lines if "GPT-2" in line]
    assert len(rows) == 2 and all(x.endswith("| – | – |") for x in rows)
    assert not any("BERT" in line for line in lines)


def test_models_are_compiled_and_their_inputs_named():
    small = {"vocabulary_size": 11, "num_layers": 1}
    model, (inputs, labels) = accelerator.make("BERT base", **small)
    assert model.compiled and model.dtype_policy.name == "mixed_bfloat16"
    assert inputs == {"tokens": labels, "segments": labels}
    assert tuple(labels.shape) == (32, 128)


def test_vilbert_is_pretrained_on_tokens_and_as_many_regions():
    small = {"vocabulary_size": 11, "num_layers": 1}
    model, (inputs, labels) = accelerator.make("ViLBERT base-6", **small)
    assert model.compiled and model.dtype_policy.name == "mixed_bfloat16"
    assert len(model.streams.co_blocks) == 1
    assert tuple(inputs["tokens"].shape) == (64, 36)
    assert tuple(inputs["features"].shape) == (64, 36, 2048)
    outputs = model.compute_output_spec(
        {name: model.input[name] for name in inputs}
    )
    assert labels.keys() == outputs.keys()
    assert labels["masked_regions"].shape[2] == 1601


def test_a_vit_takes_as_many_tokens_as_its_row_says():
    model, (images, labels) = accelerator.make("ViT-B/16", num_layers=1)
    assert model.compiled and model.dtype_policy.name == "mixed_bfloat16"
    assert tuple(images.shape) == (64, 224, 224, 3)
    assert tuple(labels.shape) == (64,)
    *_, tokens = accelerator.MODELS["ViT-B/16"]
    assert model.grid[0] * model.grid[1] + model.num_class_tokens == tokens


def test_a_sagan_attends_to_as_many_positions_as_its_row_says():
    model, (images, labels) = accelerator.make(
        "SAGAN 128",
        generator_width=8,
        discriminator_width=8,
        num_classes=3,
        num_layers=1,  # which it has not
        dropout=0.0,
    )
    assert model.compiled and model.dtype_policy.name == "mixed_bfloat16"
    assert tuple(images.shape) == (64, 128, 128, 3)
    assert tuple(labels.shape) == (64,)
    (side,) = model.config["attention_resolutions"]
    *_, tokens = accelerator.MODELS["SAGAN 128"]
    assert side * side == tokens


def test_a_recurrent_model_reads_and_writes_as_its_row_says():
    small = {"source_vocabulary_size": 11, "target_vocabulary_size": 13}
    model, (inputs, labels) = accelerator.make("Bahdanau 2015", **small)
    assert model.compiled and model.dtype_policy.name == "mixed_bfloat16"
    assert inputs == {"source": labels, "target": labels}
    assert tuple(labels.shape) == (80, 50)
