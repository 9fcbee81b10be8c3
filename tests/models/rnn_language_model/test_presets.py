import keras
import pytest

from keras_attn.models import RNNLanguageModel

# Zaremba et al. say 20 and 66 million.
COUNTS = {
    "zaremba2014-medium": 19_775_200,
    "zaremba2014-large": 66_022_000,
}


@pytest.mark.parametrize("name", RNNLanguageModel.presets)
def test_every_preset_has_its_published_number_of_parameters(name):
    # Weights without values: orthogonal ones of 1,500 units take a minute.
    with keras.StatelessScope(initialize_variables=False):
        model = RNNLanguageModel.from_preset(name)
        assert model.count_params() == COUNTS[name]
