import keras
import numpy as np
import pytest

from keras_attn.training.resuming import state
from tests.models.sagan import small
from tests.training.resuming import runs


def trained(**options):
    model = runs.make_model(**options)
    model.fit(runs.make_data(), verbose=0, shuffle=False)
    return model


def test_weights_seeds_optimizers_and_metrics_are_captured():
    model, other = trained(), runs.make_model()
    described, arrays = state.describe(model), state.capture(model)
    rows = [(group, name) for group, name, *_ in described]
    assert ("model", "sequential/dense/kernel") in rows
    assert ("model", "seed_generator/seed_generator_state") in rows
    assert ("optimizer", "sgd/learning_rate") in rows
    assert ("metric", "mean_absolute_error/total") in rows
    other.fit(runs.make_data(seed=2), verbose=0, shuffle=False)
    state.check(other, described, "it")
    state.restore(other, described, arrays)
    runs.assert_same(other, model)
    assert other.get_metrics_result() == model.get_metrics_result()


def test_a_capture_does_not_change_with_the_model():
    model = trained()
    before = state.capture(model)
    copies = [np.array(array) for array in before]
    model.fit(runs.make_data(), verbose=0, shuffle=False)
    for array, copy in zip(before, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_one_group_alone_may_be_restored():
    model, other = trained(), runs.make_model(features=2)
    described, arrays = state.describe(model), state.capture(model)
    state.check(other, described, "it", only="model")
    state.restore(other, described, arrays, only="model")
    np.testing.assert_array_equal(other.get_weights(), model.get_weights())
    assert other.optimizer.iterations == 0


def test_every_optimizer_is_found_once():
    model = runs.make_model()
    second, third, fourth = (keras.optimizers.SGD() for _ in range(3))
    model.other_optimizer = second
    model.more = {"a": third, "b": [1]}
    model.rest = [fourth, model.optimizer]
    found = state.optimizers(model)
    assert found[0] is model.optimizer
    assert len(found) == 4
    assert all(any(x is y for y in found) for x in (second, third, fourth))


@pytest.mark.slow
def test_both_optimizers_of_a_sagan_are_found():
    model = small.make()
    model.compile()
    assert state.optimizers(model) == [
        model.optimizer,
        model.discriminator_optimizer,
    ]
    names = {name for _, name, *_ in state.describe(model)}
    assert "generator_loss/total" in names


def test_it_says_which_variables_differ():
    model = trained()
    described = state.describe(model)
    described[1][2] = [9, 9]
    del described[-1]
    with pytest.raises(ValueError, match="another model") as caught:
        state.check(model, described, "run/step-1.state")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("run/step-1.state is of another model")
    assert "kernel [9, 9] float32 in the checkpoint" in lines[1]
    assert "nothing in the checkpoint" in lines[2]
