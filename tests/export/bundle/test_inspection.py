import pytest
import tensorflow as tf

from keras_attn.export.bundle.inspection import inspect
from tests.export.saved_modules import Echo


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("translator")
    return Echo().save(folder / "7", xla=True, echo=False).parent


def test_it_tells_signatures_ops_and_sizes(folder, capsys):
    report = inspect(folder)
    out = capsys.readouterr().out
    assert sorted(report["signatures"]) == [
        *("check", "compiled_xla", "forget", "scale")
    ]
    # Both are inside functions.
    assert report["ops"]["StringUpper"] and report["ops"]["Mul"]
    assert report["non_core"] == []
    assert report["files"]["saved_model.pb"] > 1000
    assert "check         input   text     string   (None,)" in out
    assert f"{sum(report['files'].values()):,}" in out.splitlines()[-1]


def test_xla_is_told_where_it_is_needed(folder, capsys):
    report = inspect(folder)
    assert report["xla"] == {"compiled_xla": ["jit_compile"]}
    out = capsys.readouterr().out
    assert "Signature 'compiled_xla' needs XLA (jit_compile)" in out


class Other(tf.Module):
    """Uses an XLA op without compiling, inside a loop."""

    @tf.function
    def update(self, x):
        from tensorflow.compiler.tf2xla.ops import gen_xla_ops

        start = tf.zeros([1], tf.int32)
        for _ in tf.range(2):
            x = gen_xla_ops.xla_dynamic_update_slice(x, x[:1], start)
        return {"x": x}


def test_ops_that_only_xla_knows_are_found_inside_loops(tmp_path, capsys):
    pytest.importorskip("tensorflow.compiler.tf2xla.ops.gen_xla_ops")
    module = Other()
    spec = tf.TensorSpec([5], tf.float32, "x")
    tf.saved_model.save(
        module,
        str(tmp_path),
        {"update": module.update.get_concrete_function(spec)},
    )
    report = inspect(tmp_path, verbose=False)
    assert capsys.readouterr().out == ""
    assert report["xla"] == {"update": ["XlaDynamicUpdateSlice"]}
    inspect(tmp_path)
    (line,) = [
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("XlaDynamic")
    ]
    assert line.endswith("needs XLA")


def test_ops_of_other_libraries_are_flagged(folder, tmp_path, capsys):
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel.FromString(
        (folder / "7" / "saved_model.pb").read_bytes()
    )
    library = saved.meta_graphs[0].graph_def.library
    library.function[0].node_def.add(name="a", op="FastWordpieceTokenize")
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "variables.index").touch()
    (tmp_path / "saved_model.pb").write_bytes(saved.SerializeToString())
    assert inspect(tmp_path)["non_core"] == ["FastWordpieceTokenize"]
    assert "1  not in TensorFlow's core" in capsys.readouterr().out


def test_a_model_without_xla_says_so(tmp_path, capsys):
    Echo().save(tmp_path, echo=False)
    assert inspect(tmp_path)["xla"] == {}
    assert "No signature needs XLA." in capsys.readouterr().out
