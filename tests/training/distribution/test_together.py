"""Several replicas train as one device does: real processes, logical CPUs."""

import json
import os
import pathlib
import socket
import subprocess
import sys

import numpy as np
import pytest

from tests.training.distribution import trained_together

ROOT = pathlib.Path(__file__).parents[3]


def start(module, *args, **environment):
    """Start a module as a program of its own, away from GPUs."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *map(str, args)],
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def free_ports(number):
    """Ports of loopback that nobody listens to."""
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory):
    """The folder in which two processes saved what they trained together."""
    folder = tmp_path_factory.mktemp("two_workers")
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
    workers = []
    for index in range(2):
        config = {
            "cluster": {"worker": addresses},
            "task": {"type": "worker", "index": index},
        }
        workers.append(
            start(
                "tests.training.distribution.trained_together",
                folder,
                TF_CONFIG=json.dumps(config),
            )
        )
    for worker in workers:
        output, _ = worker.communicate(timeout=600)
        assert worker.returncode == 0, output[-3000:]
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", trained_together.MODELS)
def test_two_machines_reach_the_weights_of_one_device(two_workers, name):
    weights, history, found = trained_together.train(name)
    together = np.load(two_workers / f"{name}.npz")
    for i, weight in enumerate(weights):
        np.testing.assert_allclose(
            together[f"arr_{i}"], weight, rtol=0, atol=1e-10
        )
    np.testing.assert_allclose(together["history"], history["loss"], rtol=1e-6)
    np.testing.assert_allclose(together["evaluation"], found["loss"], rtol=1e-6)
