import keras
import numpy as np
import pytest

from keras_attn import training
from tests.training.resuming import runs

IN_TURN = pytest.mark.filterwarnings("ignore:Your input ran out of data")


@IN_TURN
@pytest.mark.parametrize("kind", ["finite", "unknown", "endless"])
@pytest.mark.parametrize("stops", [[4], [6, 1, 3], [13]])
def test_a_run_that_was_stopped_ends_with_the_same_weights(
    kind, stops, tmp_path
):
    whole, history = runs.run(tmp_path / "whole", kind)
    for steps in stops:
        with pytest.raises(KeyboardInterrupt):
            runs.run(tmp_path / "cut", kind, callbacks=[runs.StopAt(steps)])
    model, continued = runs.run(tmp_path / "cut", kind)
    runs.assert_same(model, whole)
    assert continued == history
