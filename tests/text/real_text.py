"""Sentences that people wrote, and a vocabulary made from them."""

import collections
import importlib
import inspect
import itertools
import random
import re

import emoji

from keras_attn.text.special_tokens import DEFAULT

LANGUAGES = ["de", "es", "fr", "ja", "ko", "pt", "it", "fa", "id", "zh"]
LANGUAGES += ["ru", "tr", "ar", "en"]
MODULES = ["argparse", "asyncio", "collections", "datetime", "decimal"]
MODULES += ["difflib", "doctest", "email", "fractions", "functools", "heapq"]
MODULES += ["inspect", "itertools", "json", "logging", "os", "pathlib"]
MODULES += ["random", "re", "statistics", "string", "subprocess", "textwrap"]


def sentences(count: int) -> list[str]:
    """Lines of docstrings and names of emoji in fourteen languages."""
    lines = sorted({*_docstrings(), *_emoji()})
    assert len(lines) >= count
    return random.Random(0).sample(lines, count)


def pieces(lines, size: int) -> list[str]:
    """The commonest words, beginnings and endings, and most characters."""
    words = collections.Counter(
        word for line in lines for word in re.findall(r"\w+|[^\w\s]", line)
    )
    parts = collections.Counter()
    for word, times in words.items():
        for start, length in itertools.product(range(len(word)), range(1, 7)):
            mark = "##" if start else ""
            parts[mark + word[start : start + length]] += times
    common = [*words.most_common(size // 2), *parts.most_common(size // 2)]
    tokens = dict.fromkeys(token for token, _ in common)
    return [*DEFAULT, *(token for token in tokens if token not in DEFAULT)]


def _docstrings():
    for name in MODULES:
        for member in vars(importlib.import_module(name)).values():
            if inspect.isroutine(member):
                yield from _lines(member)
            elif inspect.isclass(member):
                for method in [member, *vars(member).values()]:
                    yield from _lines(method)


def _lines(member):
    if not callable(member):
        return
    for line in (inspect.getdoc(member) or "").splitlines():
        if line.strip():
            yield line


def _emoji():
    emoji.config.load_language(LANGUAGES)
    for sign, names in emoji.EMOJI_DATA.items():
        for language in LANGUAGES:
            if language in names:
                yield names[language].strip(":").replace("_", " ") + " " + sign
