"""Exporters that are killed, starved or in each other's way."""

import concurrent.futures
import json
import pathlib
import subprocess
import sys

import pytest

from keras_attn.export.bundle.recorded_examples import read_examples
from keras_attn.export.bundle.versions import list_versions
from keras_attn.export.bundle.versions import newest_version
from keras_attn.export.loader.loaded_model import LoadedModel
from keras_attn.export.verify.differences import difference

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def exporters(tmp_path_factory):
    """A function that has the exporters do something, and waits for it."""
    errors = tmp_path_factory.mktemp("exporters") / "errors"
    with (
        errors.open("w") as file,
        subprocess.Popen(
            [sys.executable, "-m", "tests.export.exporters"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        ) as process,
    ):

        def ask(command, folder, **job):
            job = {"command": command, "folder": str(folder), **job}
            print(json.dumps(job), file=process.stdin, flush=True)
            line = process.stdout.readline()
            assert line, errors.read_text()
            return json.loads(line)

        yield ask
        process.stdin.close()


def check(path):
    """Load a version and compare its answers with the recorded ones."""
    examples = read_examples(path)
    assert examples
    model = LoadedModel(path)
    try:
        for signature, inputs, wanted in examples:
            outputs = model.run(signature, inputs)
            for name, array in wanted.items():
                assert difference(outputs[name], array) < 1e-5
    finally:
        model.close()
    assert sorted(file.name for file in (path / "assets.extra").iterdir()) == [
        *("README.md", "examples.json", "tf_serving_warmup_requests")
    ]


def watch(folder, work):
    """Load each newest version as it appears, until the work is done."""
    loaded = set()
    while not work.done():
        newest = newest_version(folder)
        if newest is not None and newest not in loaded:
            check(folder / str(newest))
            loaded.add(newest)
        concurrent.futures.wait([work], timeout=0.01)
    return loaded


@pytest.mark.slow
@pytest.mark.parametrize(
    "job",
    [{"rounds": 25}, {"rounds": 25, "real": True}],
    ids=["25", "25 of export_model"],
)
def test_a_killed_exporter_never_leaves_a_broken_version(
    exporters, tmp_path, job
):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        work = pool.submit(exporters, "kill", tmp_path, **job)
        loaded = watch(tmp_path, work)
    unfinished = [
        [name for name in names if name.startswith(".partial-")]
        for names in work.result()
    ]
    # Otherwise nothing was watched, or no exporter was killed at work.
    assert loaded
    assert any(unfinished)
    # Each exporter takes away what the one before it left.
    assert max(map(len, unfinished)) == 1
    versions = list_versions(tmp_path)
    assert list(versions) == list(range(1, len(versions) + 1))
    for number in versions.keys() - loaded:
        check(versions[number])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_two_exporters_at_once_get_two_versions(exporters, tmp_path):
    assert exporters("race", tmp_path) == ["", ""]
    assert names(tmp_path) == ["1", "2"]
    check(tmp_path / "1")
    check(tmp_path / "2")


def test_of_two_exporters_of_one_version_one_gets_an_error(exporters, tmp_path):
    fine, complaint = sorted(exporters("race", tmp_path, version=3))
    assert fine == ""
    assert complaint.startswith(
        f"FileExistsError: {tmp_path} has a version 3 already"
    )
    assert names(tmp_path) == ["3"]
    check(tmp_path / "3")


def test_without_space_the_old_version_stays_and_nothing_else(
    exporters, tmp_path
):
    # Bytes that a file may have; the first are enough.
    limits = [10**9, 0, 300, 1000, 9000]
    fine, *complaints = exporters("starve", tmp_path, limits=limits)
    assert fine == ""
    assert all("File too large" in complaint for complaint in complaints)
    assert names(tmp_path) == ["1"]
    check(tmp_path / "1")
