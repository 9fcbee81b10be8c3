import functools

import pytest

from keras_attn.ops import attention
from keras_attn.ops.tiling import tiled
from tests.ops import cases


@pytest.fixture(params=["dense", "tiled"])
def attend(request, monkeypatch):
    """Attention in one of its two forms, with tiles of a few elements."""
    monkeypatch.setattr(tiled, "TILE", cases.TILE)
    return functools.partial(attention, implementation=request.param)
