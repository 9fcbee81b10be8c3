import json
import sys

import pytest

from keras_attn.export.settings.chat_template import describe

TEMPLATE = """\
{{ bos_token }}
{%- for message in messages %}
<|{{ message['role'] }}|>{{ message['content'] | tojson }}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}
"""
MADE = '<s><|user|>"Hello!"<|assistant|>'


def write(folder, **fields):
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({"bos_token": {"content": "<s>"}} | fields))


@pytest.mark.parametrize(
    "template",
    [
        TEMPLATE,
        [
            {"name": "tools", "template": "other"},
            {"name": "default", "template": TEMPLATE},
        ],
    ],
    ids=["one", "several"],
)
def test_a_template_is_shown_with_one_message(tmp_path, template):
    write(tmp_path, chat_template=template)
    *_, line = describe(tmp_path).splitlines()
    assert json.loads(line) == MADE


def test_a_file_of_its_own_comes_first(tmp_path):
    write(tmp_path, chat_template="other")
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    text = describe(tmp_path)
    assert str(tmp_path / "chat_template.jinja") in text
    assert json.loads(text.splitlines()[-1]) == MADE


def test_other_models_have_none(tmp_path):
    assert describe(tmp_path) is None
    write(tmp_path)
    assert describe(tmp_path) is None


def test_without_jinja_its_file_is_named(tmp_path, monkeypatch):
    write(tmp_path, chat_template=TEMPLATE)
    monkeypatch.setitem(sys.modules, "jinja2.sandbox", None)
    text = describe(tmp_path)
    assert "tokenizer_config.json; install jinja2" in text


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{{ raise_exception('only tools') }}", "only tools"),
        ("{{ messages.append(3) }}", "append"),
        ("{{ messages.__class__.__mro__ }}", "unsafe"),
        ("{% if %}", "Expected"),
    ],
)
def test_a_template_that_fails_does_no_harm(tmp_path, template, reason):
    write(tmp_path, chat_template=template)
    text = describe(tmp_path)
    assert "fails for one message" in text and reason in text
