import gc
import os
import pathlib

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import pytest

# Files that take minutes: begun last, one of them would keep a core waiting.
LONGEST = (
    "training/distribution/test_together.py",
    "training/accelerator/test_check_model.py",
    "training/accelerator/test_check.py",
    "training/resuming/test_faults.py",
    "examples/test_caption_images.py",
    "examples/test_bottleneck.py",
)


def pytest_collection_modifyitems(items):
    """Begin with what takes longest."""
    order = {name: place for place, name in enumerate(LONGEST)}
    root = pathlib.Path(__file__).parent
    items.sort(
        key=lambda item: order.get(
            item.path.relative_to(root).as_posix(), len(order)
        )
    )


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
