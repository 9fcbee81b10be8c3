import inspect

import pytest

from keras_attn.models import constructor_call
from keras_attn.modifiers import RelativeBias


class Inner:
    def __init__(self, size, *, rate=0.5, dtype=None, **kwargs):
        self.seen = (size, rate, kwargs)

    def __init_subclass__(cls):
        if "__init__" in vars(cls):
            cls.__init__ = constructor_call.recorded(cls.__init__)


Inner.__init__ = constructor_call.recorded(Inner.__init__)


class Outer(Inner):
    def __init__(self, more, *, further=3, **kwargs):
        super().__init__(more + 1, **kwargs)


def test_positions_names_and_defaults_become_a_config():
    inner = Inner(4, name="some", dtype="float16")
    assert inner.seen == (4, 0.5, {"name": "some"})
    call = constructor_call.outermost(inner)
    assert call.own_config() == {"size": 4, "rate": 0.5}
    assert constructor_call.innermost(inner) is call


def test_each_class_has_its_own_arguments():
    outer = Outer(4, rate=0.25)
    assert outer.seen == (5, 0.25, {})
    inner = constructor_call.innermost(outer)
    assert inner.own_config() == {"size": 5, "rate": 0.25}
    call = constructor_call.outermost(outer)
    assert call.config("Outer") == {"more": 4, "further": 3, "rate": 0.25}
    assert Outer(**call.config("Outer")).seen == outer.seen


def test_what_is_not_taken_is_known():
    class Narrow(Inner):
        def __init__(self, size, name):
            super().__init__(size)

    call = constructor_call.outermost(Narrow(2, "some"))
    assert call.takes("name")
    assert not call.takes("dtype")
    assert constructor_call.outermost(Inner(2)).takes("name")


def test_later_changes_do_not_reach_the_config():
    given = {"a": [1, RelativeBias()]}
    config = constructor_call.outermost(Inner(given)).own_config()
    given["a"].append(2)
    assert len(config["size"]["a"]) == 2
    assert "shared_object_id" not in str(config)


def test_the_signature_stays():
    with pytest.raises(TypeError, match="missing a required argument: 'size'"):
        Inner()
    # As Keras asks for it.
    assert inspect.getfullargspec(Inner.__init__).args == ["self", "size"]
    assert "size" in inspect.signature(Inner).parameters


def test_arguments_without_a_name_are_refused():
    class Nameless(Inner):
        def __init__(self, *sizes):
            super().__init__(sum(sizes))

    call = constructor_call.outermost(Nameless(2, 3))
    with pytest.raises(ValueError, match=r"Nameless .*no name: \['sizes'\]"):
        call.config("Nameless")
    assert constructor_call.outermost(Nameless()).config("Nameless") == {}


def test_what_keras_cannot_write_is_refused():
    call = constructor_call.outermost(Outer(4, further=object()))
    with pytest.raises(ValueError, match="'further' of Outer cannot be"):
        call.config("Outer")
