import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def fresh_keras():
    """Each test starts from the same seed and an empty global state."""
    # Collecting garbage would take a third of a second for each test.
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
