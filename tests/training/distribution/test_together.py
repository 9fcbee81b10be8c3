"""Several replicas train as one device does: real processes, logical CPUs."""

import functools
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
        # The programs are tiny: they do without LLVM's optimisation.
        env={
            **os.environ,
            "CUDA_VISIBLE_DEVICES": "",
            "XLA_FLAGS": "--xla_backend_optimization_level=0",
            **environment,
        },
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
    end(workers)
    return folder


@pytest.fixture(scope="module")
def mirrored(tmp_path_factory):
    """The folder in which a process with four logical CPUs saved."""
    folder = tmp_path_factory.mktemp("mirrored")
    end([start("tests.training.distribution.trained_together", folder)])
    return folder


def end(programs):
    """Wait for programs, and raise what any of them says of a failure."""
    for program in programs:
        try:
            output, _ = program.communicate(timeout=1500)
        finally:
            if program.poll() is None:
                program.kill()
        assert program.returncode == 0, output[-3000:]


@pytest.fixture(scope="module")
def alone():
    """What one device learns without XLA, by the model's name and dtype."""
    return functools.cache(
        lambda name, dtype="float64": trained_together.train(
            name, jit_compile=False, dtype=dtype
        )
    )


def check(result, path, *, within=1e-10):
    """Weights, history and evaluation are those of one device."""
    weights, history, found = result
    together = np.load(path)
    for i, weight in enumerate(weights):
        np.testing.assert_allclose(
            together[f"arr_{i}"], weight, rtol=0, atol=within
        )
    rtol = max(1e-6, within)
    np.testing.assert_allclose(together["history"], history["loss"], rtol=rtol)
    np.testing.assert_allclose(together["evaluation"], found["loss"], rtol=rtol)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype"), trained_together.TOGETHER)
def test_two_machines_reach_the_weights_of_one_device(
    two_workers, alone, name, dtype
):
    within = {"float64": 1e-10, "float32": 1e-5}[dtype]
    check(
        alone(name, dtype), two_workers / f"{name}_{dtype}.npz", within=within
    )


@pytest.mark.slow
def test_machines_with_unequal_numbers_of_batches_are_told_so(two_workers):
    for index, number in enumerate((2, 3)):
        said = (two_workers / f"refused_{index}.txt").read_text()
        assert f"unequal numbers of batches; this one has {number}" in said


@pytest.mark.slow
@pytest.mark.parametrize("name", trained_together.MIRRORED)
@pytest.mark.parametrize("replicas", [2, 4])
@pytest.mark.parametrize("parts", [1, 2])
def test_logical_devices_reach_the_weights_of_one(
    mirrored, alone, name, replicas, parts
):
    check(alone(name), mirrored / f"{name}_{replicas}_{parts}.npz")


@pytest.mark.slow
def test_half_precision_scales_its_loss_as_on_one_device(mirrored, alone):
    path = mirrored / "keras_mixed_float16.npz"
    check(alone("keras", "mixed_float16"), path, within=2e-3)


@pytest.mark.slow
def test_replicas_drop_other_units(mirrored):
    first, second = np.load(mirrored / "masks.npy")
    assert set(first) | set(second) == {0.0, 2.0}
    assert (first != second).any()
