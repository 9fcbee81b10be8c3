"""How a chat model's template wraps what a user says."""

import json
import pathlib

from keras_attn.text.huggingface import template as template_files

MESSAGE = "Hello!"

_FILE = "chat_template.jinja"
_CONFIG = "tokenizer_config.json"
# What templates may use beside their messages.
_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token")


def describe(folder: pathlib.Path) -> str | None:
    """Tell how the template of a folder wraps one message.

    Templates are programs, so they are not part of a served graph: a server
    takes the whole prompt. Where jinja2 is installed the template is run, in
    its sandbox; elsewhere its file is named.

    Args:
        folder: Holds `chat_template.jinja`, or `tokenizer_config.json` with a
            field `chat_template`.

    Returns:
        Some lines for people, or None if there is no template.
    """
    found = _find(folder)
    if found is None:
        return None
    where, template, config = found
    try:
        prompt = _render(template, config)
    except ImportError:
        return (
            f"This is a chat model: the prompt is what its template makes of "
            f"messages. It is in {where}; install jinja2 to see what it makes."
        )
    except Exception as error:  # whatever a stranger's program does
        return (
            "This is a chat model: the prompt is what its template makes of "
            f"messages. It is in {where}, and fails for one message: {error}"
        )
    start = _put_before(folder)
    # A server would put it there again.
    prompt = prompt.removeprefix(start)
    return (
        "This is a chat model: the prompt is what its template "
        f"({where}) makes of messages. Of {MESSAGE!r} it makes"
        + (f", after {start} which the server adds:\n" if start else ":\n")
        + f"    {json.dumps(prompt, ensure_ascii=False)}"
    )


def _put_before(folder):
    """The special tokens that the tokenizer itself puts before a text."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        return ""
    whole = json.loads(path.read_text(encoding="utf-8"))
    added = {x["id"]: x["content"] for x in whole.get("added_tokens") or ()}
    found = template_files.read(path, whole)
    start = ""
    for what, _ in () if found is None else found.single:
        if isinstance(what, str):  # the text
            break
        start += added.get(what, "")
    return start


def _find(folder):
    config = {}
    if (folder / _CONFIG).is_file():
        config = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
    if (folder / _FILE).is_file():
        template = (folder / _FILE).read_text(encoding="utf-8")
        return folder / _FILE, template, config
    template = config.get("chat_template")
    # There may be several by name, for tools and documents.
    if isinstance(template, list):
        by_name = {each.get("name"): each.get("template") for each in template}
        template = by_name.get("default")
    if not isinstance(template, str):
        return None
    return folder / _CONFIG, template, config


def _render(template, config):
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def raise_exception(message):
        raise ValueError(message)

    def to_json(value, **options):
        return json.dumps(value, ensure_ascii=False, **options)

    # As transformers sets it up.
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
    )
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: "(today)"
    tokens = {name: _text(config.get(name)) for name in _TOKENS}
    return environment.from_string(template).render(
        messages=[{"role": "user", "content": MESSAGE}],
        add_generation_prompt=True,
        **{name: token for name, token in tokens.items() if token},
    )


def _text(token):
    return token.get("content") if isinstance(token, dict) else token
