"""Tokenizers of Hugging Face's library, set up as published files are."""

import functools
import json
import random
import unicodedata

import tensorflow as tf
import tokenizers
from tokenizers import AddedToken
from tokenizers import Regex
from tokenizers import decoders
from tokenizers import models
from tokenizers import normalizers
from tokenizers import pre_tokenizers
from tokenizers import processors
from tokenizers import trainers

from keras_attn.text import Tokenizer
from tests.text.real_text import sentences

LLAMA3, QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
    + number
    + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    for number in (r"\p{N}{1,3}", r"\p{N}")
)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPACES = "  \t\n\r\x0b\x0c\x85\xa0\u2003\u2028\u3000"
SIGNS = "'’s'S'T'll'Re.,!?-_(){}<>|#$€▁漢字かなשלوםش한국어กำ้👩🏽\u200d❤️ſßǅé"
MARKS = "\u0301\u0323\u0308\u0302\u0327\u1100\u1161\u11a8\u094d\u093c\u0344"


def byte_level(
    lines,
    *,
    pattern=None,
    prefix=False,
    nfc=False,
    ignore_merges=False,
    special=(),
    after=None,
    added=(),
):
    """Byte-level BPE: GPT-2, RoBERTa, Llama 3, Qwen."""
    peer = tokenizers.Tokenizer(models.BPE(ignore_merges=ignore_merges))
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    if pattern:
        peer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(pattern), "isolated"),
                pre_tokenizers.ByteLevel(prefix, use_regex=False),
            ]
        )
    if nfc:
        peer.normalizer = normalizers.NFC()
    peer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    peer.train_from_iterator(lines, trainer)
    if ignore_merges:
        peer = without_merges(peer)
    if after:
        peer.post_processor = after(peer)
    peer.add_tokens(list(added))
    return peer


def without_merges(peer):
    """Take the last merges away: their tokens are found as words alone."""
    state = model_of(peer)
    peer.model = models.BPE(
        state["vocab"],
        [tuple(merge) for merge in state["merges"][:-200]],
        ignore_merges=True,
    )
    return peer


def model_of(peer):
    """The model as its file has it."""
    return json.loads(peer.to_str())["model"]


def characters(
    lines,
    *,
    normalizer=None,
    before=None,
    strip=True,
    learn=None,
    added=(),
    byte_fallback=True,
    fuse=True,
):
    """SentencePiece's BPE: Llama 2, Mistral, Gemma."""
    pupil = tokenizers.Tokenizer(models.BPE())
    pupil.normalizer = normalizers.Replace(" ", "▁")
    if learn is not None:
        pupil.pre_tokenizer = learn
    trainer = trainers.BpeTrainer(
        vocab_size=1500, limit_alphabet=300, show_progress=False
    )
    pupil.train_from_iterator(lines, trainer)
    state = model_of(pupil)
    tokens = ["<unk>", "<s>", "</s>", *(BYTES if byte_fallback else ())]
    tokens += ["▁"] + [t for t in state["vocab"] if t != "▁"]
    for run in ("\n", "\n\n", "▁▁", "▁▁▁▁", "▁▁▁", "\n\n\n", "▁▁▁▁▁"):
        if run not in tokens:
            tokens.append(run)
    merges = every_split(tokens)
    peer = tokenizers.Tokenizer(
        models.BPE(
            {token: number for number, token in enumerate(tokens)},
            merges,
            unk_token="<unk>",
            fuse_unk=fuse,
            byte_fallback=byte_fallback,
        )
    )
    if normalizer is not None:
        peer.normalizer = normalizer
    if before is not None:
        peer.pre_tokenizer = before
    steps = [decoders.Replace("▁", " ")]
    if byte_fallback:
        steps.append(decoders.ByteFallback())
    steps.append(decoders.Fuse())
    if strip:
        steps.append(decoders.Strip(" ", 1, 0))
    peer.decoder = decoders.Sequence(steps)
    peer.post_processor = processors.TemplateProcessing(
        single="<s> $A",
        pair="<s> $A <s>:1 $B:1",
        special_tokens=[("<s>", 1)],
    )
    peer.add_special_tokens(
        [AddedToken(t, normalized=False) for t in ("<unk>", "<s>", "</s>")]
    )
    peer.add_tokens(list(added))
    return peer


def every_split(tokens):
    """Merges of a SentencePiece model, as its converter writes them.

    SentencePiece has no merges, only tokens in order. Every way to put a token
    together is a merge, of the token's rank, even where its parts come later.
    """
    ids = {token: number for number, token in enumerate(tokens)}
    merges = []
    for token in tokens:
        splits = [(token[:i], token[i:]) for i in range(1, len(token))]
        merges += sorted(
            (pair for pair in splits if pair[0] in ids and pair[1] in ids),
            key=lambda pair: (ids[pair[0]], ids[pair[1]]),
        )
    return merges


def roberta(peer):
    return processors.RobertaProcessing(
        ("</s>", peer.token_to_id("</s>")), ("<s>", peer.token_to_id("<s>"))
    )


def llama3(peer):
    number = peer.token_to_id("<|begin_of_text|>")
    return processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single="<|begin_of_text|> $A",
                pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
                special_tokens=[("<|begin_of_text|>", number)],
            ),
        ]
    )


ADDED = [
    AddedToken("<tool call>", normalized=False),
    AddedToken("<tool", normalized=False),
    AddedToken("Éa", normalized=True),
    AddedToken("<left>", lstrip=True, normalized=False, special=True),
    AddedToken("<right>", rstrip=True, normalized=False),
]
BYTE_LEVEL = {
    "gpt2": {
        "special": ["<|endoftext|>"],
        "after": lambda peer: processors.ByteLevel(trim_offsets=False),
    },
    "gpt2_prefix": {"special": ["<|endoftext|>"], "prefix": True},
    "roberta": {
        "special": [
            *("<s>", "<pad>", "</s>", "<unk>"),
            AddedToken("<mask>", lstrip=True, normalized=False),
        ],
        "after": roberta,
    },
    "llama3": {
        "special": ["<|begin_of_text|>", "<|end_of_text|>"],
        "pattern": LLAMA3,
        "ignore_merges": True,
        "after": llama3,
    },
    "qwen2": {
        "special": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        "pattern": QWEN2,
        "nfc": True,
    },
}
PER_WORD = pre_tokenizers.Metaspace(prepend_scheme="never")
CHARACTERS = {
    "llama2": lambda: {
        "normalizer": normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        ),
        "learn": PER_WORD,
    },
    "mistral": lambda: {
        "before": pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
        "learn": PER_WORD,
    },
    "always": lambda: {
        "before": pre_tokenizers.Metaspace(prepend_scheme="always"),
        "learn": PER_WORD,
        "byte_fallback": False,
    },
    "unfused": lambda: {
        "before": pre_tokenizers.Metaspace(prepend_scheme="never"),
        "learn": PER_WORD,
        "byte_fallback": False,
        "fuse": False,
        "strip": False,
    },
    "gemma": lambda: {
        "normalizer": normalizers.Replace(" ", "▁"),
        "before": pre_tokenizers.Split(" ", "merged_with_previous"),
        "learn": PER_WORD,
        "strip": False,
    },
    # Merges across words: "of▁the".
    "across": lambda: {
        "normalizer": normalizers.Replace(" ", "▁"),
        "strip": False,
    },
}


@functools.cache
def lines_to_read():
    return sentences(20_000)


def trained(name):
    """The tokenizer of this name."""
    lines = lines_to_read()[:6000]
    lines += ["\n\n".join(lines[i : i + 3]) for i in range(0, 600, 3)]
    if name in BYTE_LEVEL:
        return byte_level(lines, **BYTE_LEVEL[name], added=ADDED)
    return characters(lines, **CHARACTERS[name](), added=ADDED)


def read_back(peer, folder):
    """The same tokenizer, read by us."""
    folder.mkdir(exist_ok=True)
    peer.save(str(folder / "tokenizer.json"))
    return Tokenizer.from_huggingface(folder)


def check_trained(name, folder, count):
    """Assert that the tokenizer of this name, read by us, is the same."""
    peer = trained(name)
    check_same(peer, read_back(peer, folder), count)


def check_same(peer, ours, count):
    """Assert that ids and texts are the same, of real texts and odd ones."""
    texts = [*lines_to_read()[-count:], *fuzzed(3000, peer)]
    run = tf.function(ours, input_signature=[tf.TensorSpec([None], tf.string)])
    expected = [
        each.ids for each in peer.encode_batch(texts, add_special_tokens=False)
    ]
    ids = run(tf.constant(texts))
    found = ids.to_list()
    for text, row, wanted in zip(texts, found, expected, strict=True):
        assert row == wanted, text
    # `tokenizers` writes a token with the prefix of its normalized form.
    prefixed = peer.token_to_id("Éa")
    for skip in (True, False):
        back = ours.detokenize(ids, keep_special=not skip).numpy()
        wanted = peer.decode_batch(expected, skip_special_tokens=skip)
        for row, text, other in zip(expected, back, wanted, strict=True):
            if prefixed not in row:
                assert text.decode(errors="replace") == other


def fuzzed(count, peer):
    """Odd texts, the same each time."""
    draw = random.Random(0)
    added = [t.content for t in peer.get_added_tokens_decoder().values()]
    # Versions of Unicode differ: only what all have had for long.
    assigned = [
        chr(code)
        for code in range(0x20000)
        if not 0xD800 <= code < 0xE000
        and unicodedata.ucd_3_2_0.category(chr(code)) != "Cn"
    ]
    pools = [SPACES, SIGNS, "0123456789½²٣", "abcdefghijklmnop THEthe", MARKS]
    texts = []
    for _ in range(count):
        parts = []
        for _ in range(draw.randrange(1, 9)):
            kind = draw.randrange(len(pools) + 2)
            if kind < len(pools):
                letters = draw.choices(pools[kind], k=draw.randrange(1, 6))
                parts.append("".join(letters))
            elif kind == len(pools):
                parts.append(draw.choice(added))
            else:
                parts.append("".join(draw.choices(assigned, k=3)))
        texts.append("".join(parts))
    return texts
