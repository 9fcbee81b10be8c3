import pathlib

import pytest

from keras_attn.base.paths import inside

FOLDER = pathlib.Path("some") / "folder"


@pytest.mark.parametrize("name", ["a.txt", "deep/a.txt", "..a", "a..", "./a"])
def test_files_of_the_folder_are_found(name):
    path = inside(FOLDER, name, named_by="index.json")
    assert path == FOLDER / name


@pytest.mark.parametrize(
    "name", ["../a.txt", "..", "deep/../../a", "deep/../a", "/etc/a", None, 3]
)
def test_names_that_lead_out_of_it_are_refused(name):
    with pytest.raises(ValueError, match=r"index.json names .* leads out of"):
        inside(FOLDER, name, named_by="index.json")
