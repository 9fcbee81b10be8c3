"""Processes that export, to be killed, to be starved, or to race.

    {"command": "kill", "folder": "...", "rounds": 5}

It reads such lines and answers each with one. TensorFlow is imported once;
each exporter is a fork, made before TensorFlow has run anything, so that
starting one costs nothing.
"""

import json
import os
import pathlib
import random
import resource
import signal
import sys
import time

import keras
import numpy as np

from keras_attn.export.bundle.model_card import write_model_card
from keras_attn.export.bundle.recorded_examples import write_examples
from keras_attn.export.bundle.versions import new_version
from keras_attn.export.bundle.warmup import write_warmup
from keras_attn.export.exporting import export_model
from keras_attn.layers import SelfAttention
from tests.export.saved_modules import Echo

X = np.array([[1.0, 2.0]], "float32")
EXAMPLES = [("scale", {"x": X}, {"scaled": 3 * X})]


def export(folder, version=None):
    """Write a version with all the files that an exported model has."""
    with new_version(folder, version) as partial:
        Echo().save(partial, echo=False)
        write_examples(partial, EXAMPLES)
        write_warmup(partial, [example[:2] for example in EXAMPLES])
        write_model_card(partial, "echo")


def export_many(folder, count):
    for _ in range(count):
        export(folder)


def export_many_models(folder, count):
    inputs = keras.Input((3, 4), name="x")
    outputs = SelfAttention(5, name="looked")(inputs)
    model = keras.Model(inputs, outputs)
    for _ in range(count):
        export_model(model, folder)


def fork(function, *arguments):
    """Run a function in a fork; return its process and where it complains."""
    read, write = os.pipe()
    process = os.fork()
    if process:
        os.close(write)
        return process, read
    os.close(read)
    try:
        function(*arguments)
    except BaseException as error:
        os.write(write, f"{type(error).__name__}: {error}".encode()[:4000])
    os._exit(0)


def complaint(process, read):
    """Wait for a fork, and read what it complained of, if anything."""
    with open(read) as file:
        text = file.read()
    os.waitpid(process, 0)
    return text


def kill(folder, rounds, real=False):
    """Kill exporters at random moments; tell what each left."""
    work = export_many_models if real else export_many
    start = time.monotonic()
    troubles = [complaint(*fork(work, folder, 1))]
    longest = 1.3 * (time.monotonic() - start)
    moments = random.Random(rounds)
    left = []
    for _ in range(rounds):
        # Should the killing fail, it ends by itself.
        process, read = fork(work, folder, 100)
        time.sleep(moments.uniform(0, longest))
        os.kill(process, signal.SIGKILL)
        troubles.append(complaint(process, read))
        left.append(sorted(path.name for path in folder.iterdir()))
    if any(troubles):
        raise RuntimeError("".join(troubles))
    return left


def race(folder, version=None):
    """Export twice at once; tell what each exporter complained of."""
    forks = [fork(export, folder, version) for _ in range(2)]
    return [complaint(*each) for each in forks]


def starve(folder, limits):
    """Export with files of a few bytes at most; tell the complaints."""

    def work(limit):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        export(folder)

    return [complaint(*fork(work, limit)) for limit in limits]


def main():
    """Do what each line of standard input asks for."""
    commands = {"kill": kill, "race": race, "starve": starve}
    for line in sys.stdin:
        job = json.loads(line)
        command = commands[job.pop("command")]
        folder = pathlib.Path(job.pop("folder"))
        print(json.dumps(command(folder, **job)), flush=True)


if __name__ == "__main__":
    main()
