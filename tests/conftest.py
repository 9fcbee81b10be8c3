import gc
import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import pytest


def pytest_collection_finish():
    """Let no one look for garbage among what was imported, half a million.

    Keras does whenever a layer is quantised, for most of a second.
    """
    gc.freeze()


@pytest.fixture(autouse=True)
def fresh_keras():
    """Each test starts from the same seed and an empty global state."""
    # Collecting garbage would take a third of a second for each test.
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
