"""The oldest TensorFlow that is to serve exports knows what is in them."""

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tests.export import op_registry
from tests.export.saved_modules import Echo


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return Echo().save(tmp_path_factory.mktemp("echo"))


@pytest.fixture
def oldest():
    return op_registry.of_the_oldest()


def test_a_simple_graph_is_known_to_the_oldest(folder, oldest):
    assert oldest["tensorflow"].startswith("2.19.")
    assert not op_registry.troubles(folder, oldest)


def test_this_tensorflow_knows_what_it_writes(folder):
    registry = op_registry.registry()
    assert registry["tensorflow"] == tf.__version__
    assert not op_registry.troubles(folder, registry)


def test_defaults_are_left_out_and_old_readers_are_let_in(folder):
    data = (folder / "saved_model.pb").read_bytes()
    (graph,) = saved_model_pb2.SavedModel.FromString(data).meta_graphs
    assert graph.meta_info_def.stripped_default_attrs
    assert graph.graph_def.versions.producer == tf.version.GRAPH_DEF_VERSION
    assert not graph.graph_def.versions.bad_consumers


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda ops: ops.pop("Mul"), "there is no op Mul"),
        (
            lambda ops: ops["AssignVariableOp"]["attr"].pop("dtype"),
            "AssignVariableOp has no attribute dtype",
        ),
        (
            lambda ops: ops["Mul"]["attr"].update(T="!HALF"),
            "Mul has no T ['FLOAT']",
        ),
        (
            lambda ops: ops["Mul"]["attr"].update(axis="!"),
            "Mul needs the attribute axis",
        ),
        (lambda ops: ops["Mul"].update({"in": "1"}), "Mul takes 1 inputs, not"),
        (lambda ops: ops["Mul"].update(out="y"), "Mul has no output z"),
        (
            lambda ops: ops["Mul"].update(until=1000),
            "Mul is not for such new graphs",
        ),
    ],
)
def test_what_an_older_one_does_not_know_is_found(
    folder, oldest, change, complaint
):
    change(oldest["ops"])
    (found,) = op_registry.troubles(folder, oldest)
    assert found.startswith(complaint)


def test_a_graph_for_newer_readers_is_found(folder, oldest, tmp_path):
    saved = saved_model_pb2.SavedModel.FromString(
        (folder / "saved_model.pb").read_bytes()
    )
    versions = saved.meta_graphs[0].graph_def.versions
    versions.min_consumer = oldest["graph_version"] + 1
    (tmp_path / "saved_model.pb").write_bytes(saved.SerializeToString())
    (found,) = op_registry.troubles(tmp_path, oldest)
    assert found.startswith("the graph is not for readers of version")
