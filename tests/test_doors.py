import importlib
import pydoc
import re
import types

import pytest

import keras_attn

ROOMS = [f"keras_attn.{room}" for room in keras_attn.__all__]
DOORS = ["keras_attn", *ROOMS]


def sections(door):
    """What `help(door)` prints, by heading."""
    text = pydoc.plain(pydoc.render_doc(importlib.import_module(door)))
    parts = re.split(r"^([A-Z][A-Z ]+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("door", DOORS)
def test_a_star_brings_exactly_the_public_names(door):
    names = {}
    exec(f"from {door} import *", names)
    del names["__builtins__"]
    public = {
        name
        for name, thing in vars(importlib.import_module(door)).items()
        if not name.startswith("_")
        and (not isinstance(thing, types.ModuleType) or thing.__name__ in ROOMS)
    }
    assert set(names) == public
    assert importlib.import_module(door).__all__ == sorted(public)


@pytest.mark.parametrize("room", ROOMS)
def test_help_explains_every_public_name(room):
    found = sections(room)
    things = vars(importlib.import_module(room))
    for name in things["__all__"]:
        if isinstance(things[name], type):
            assert f"class {name}(" in found["CLASSES"]
        else:
            assert re.search(rf"^    {name}\(", found["FUNCTIONS"], re.M)


@pytest.mark.parametrize("door", sorted({*DOORS} - {"keras_attn.layers"}))
def test_help_lists_public_names_before_the_files_of_a_room(door):
    first, *rest = sections(door).items()
    description, contents = rest[:2]
    assert [first[0], description[0], contents[0]] == [
        "NAME",
        "DESCRIPTION",
        "PACKAGE CONTENTS",
    ]
    listed = set(re.findall(r"\w+", description[1]))
    missing = set(importlib.import_module(door).__all__) - listed
    assert not missing, "name it in the docstring of the room's __init__.py"
