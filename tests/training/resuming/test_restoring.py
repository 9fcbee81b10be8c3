import numpy as np
import pytest

from keras_attn import training
from tests.training.resuming import runs


@pytest.mark.slow
def test_the_best_and_the_last_weights_can_be_had(tmp_path):
    model, history = runs.run(tmp_path, monitor="loss")
    best = int(np.argmin(history["loss"]))
    assert best < 2, "the last epoch should not be the best"
    until, _ = runs.run(tmp_path / "until", epochs=best + 1)
    other = runs.make_model()
    training.restore(other, tmp_path)
    np.testing.assert_array_equal(other.get_weights(), until.get_weights())
    training.restore(other, tmp_path, which="last")
    np.testing.assert_array_equal(other.get_weights(), model.get_weights())


def test_what_is_not_there_is_named(tmp_path):
    model = runs.make_model()
    with pytest.raises(FileNotFoundError, match=r"no best .*`monitor`"):
        training.restore(model, tmp_path)
    with pytest.raises(FileNotFoundError, match="no last checkpoint in"):
        training.restore(model, tmp_path, which="last")
    with pytest.raises(ValueError, match="which"):
        training.restore(model, tmp_path, which="first")
    with pytest.raises(ValueError, match="not built"):
        training.restore(runs.make_model(features=None), tmp_path)


def test_another_model_is_refused(tmp_path):
    runs.run(tmp_path, epochs=1)
    with pytest.raises(ValueError, match="another model"):
        training.restore(runs.make_model(features=3), tmp_path, which="last")
