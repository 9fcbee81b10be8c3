from benchmarks import accelerator
from keras_attn.training.accelerator.check import AcceleratorCheck


def test_a_row_gives_memory_in_gibibytes():
    answer = AcceleratorCheck("a100", True, "", 61.7, 3 * 2**30, 2**30, 2**31)
    assert accelerator.row("GPT-2 small", "training", answer) == (
        "| GPT-2 small | training | 8 × 1,024 | a100 | yes | 2.00 | 1.00 | "
        "3.00 | 62 |"
    )
    assert accelerator.TITLES[5:8] == (
        "arguments, GiB",
        "temporary, GiB",
        "total, GiB",
    )


def test_a_refusal_has_no_memory():
    answer = AcceleratorCheck("v5e:2x2", False, "out of HBM", 5.0)
    assert accelerator.row("BERT base", "training", answer).endswith(
        "| v5e:2x2 | no | – | – | – | 5 |"
    )


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
