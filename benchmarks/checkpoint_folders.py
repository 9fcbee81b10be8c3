"""Folders of the real libraries for `benchmarks.checkpoints`, and prompts."""

import dataclasses
import json
import pathlib
import warnings

from benchmarks import stdlib_text


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What is measured; a test has it smaller.

    Args:
        layers, width, heads: Of the Llama-shaped model; T5's are as it is.
        t5_layers, t5_width, t5_heads: Of T5-small.
        vocabulary: Ids of both models.
        tokens: Of each tokenizer, learned from Python's own documentation,
            which has too few words for all ids.
        prompt, new: Tokens that are read and written.
        lines: How many the tokenizers are learned from and measured on.
    """

    layers: int = 8
    width: int = 512
    heads: int = 8
    t5_layers: int = 6
    t5_width: int = 512
    t5_heads: int = 8
    vocabulary: int = 32_000
    tokens: int = 16_000
    prompt: int = 32
    new: int = 64
    lines: int = 20_000


def write(folder: pathlib.Path, sizes: Sizes) -> None:
    """Write "llama" and "t5": random weights, tokenizer and prompts of each."""
    lines = stdlib_text.sentences(sizes.lines)
    for name, config, learn in (
        ("llama", _llama, _byte_pairs),
        ("t5", _t5, _unigrams),
    ):
        path = folder / name
        model = config(sizes)
        model.generation_config.update(
            min_new_tokens=sizes.new, max_new_tokens=sizes.new, do_sample=False
        )
        model.save_pretrained(path)
        tokenizer = learn(lines, sizes)
        tokenizer.save_pretrained(path)
        prompts = _prompts(tokenizer, lines, sizes.prompt)
        (path / "prompts.json").write_text(json.dumps(prompts))
    (folder / "lines.json").write_text(json.dumps(lines))


def transformers():
    """The library, without its progress bars and advice."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import transformers
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers


def _llama(sizes):
    library = transformers()
    config = library.LlamaConfig(
        vocab_size=sizes.vocabulary,
        hidden_size=sizes.width,
        intermediate_size=8 * sizes.width // 3,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        num_key_value_heads=sizes.heads // 2,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
    )
    return library.LlamaForCausalLM(config).eval()


def _t5(sizes):
    library = transformers()
    config = library.T5Config(
        vocab_size=sizes.vocabulary,
        d_model=sizes.t5_width,
        d_kv=sizes.t5_width // sizes.t5_heads,
        d_ff=4 * sizes.t5_width,
        num_layers=sizes.t5_layers,
        num_heads=sizes.t5_heads,
        decoder_start_token_id=2,
        eos_token_id=1,
        pad_token_id=2,
    )
    return library.T5ForConditionalGeneration(config).eval()


SPECIAL = ["<s>", "</s>", "<pad>"]


def _fast(tokenizer):
    return transformers().PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
    )


def _byte_pairs(lines, sizes):
    import tokenizers
    from tokenizers import decoders
    from tokenizers import pre_tokenizers
    from tokenizers import processors

    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=sizes.tokens,
        show_progress=False,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator(lines, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)]
    )
    return _fast(made)


def _unigrams(lines, sizes):
    import tokenizers
    from tokenizers import decoders
    from tokenizers import pre_tokenizers
    from tokenizers import processors

    made = tokenizers.Tokenizer(tokenizers.models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    made.decoder = decoders.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=sizes.tokens,
        show_progress=False,
        special_tokens=[*SPECIAL, "<unk>"],
        unk_token="<unk>",
    )
    made.train_from_iterator(lines, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return _fast(made)


def _prompts(tokenizer, lines, length, count=8):
    """Texts that are rows of `length` tokens, special ones included."""
    found = []
    text = iter(" ".join(lines).split())
    words = []
    for word in text:
        words.append(word)
        size = len(tokenizer(" ".join(words))["input_ids"])
        if size == length:
            found.append(" ".join(words))
        if size >= length:
            words = []
        if len(found) == count:
            return found
    raise ValueError(f"There are only {len(found)} prompts of {length} tokens.")
