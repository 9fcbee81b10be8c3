"""What operators get: configuration that parses, scripts that run."""

import ast
import json
import os
import pathlib
import re
import runpy
import subprocess
import sys

import pytest
import yaml
from google.protobuf import descriptor_pb2
from google.protobuf import descriptor_pool
from google.protobuf import message_factory
from google.protobuf import text_format
from google.protobuf import wrappers_pb2
from tensorflow_serving.config import model_server_config_pb2

from keras_attn.export.server.loopback_server import serve
from tests.export import echo

FOLDER = pathlib.Path(__file__).parents[2] / "export"

# The messages of TF Serving that its Python package leaves out, with the
# numbers of their fields: session_bundle_config.proto, monitoring_config.proto.
BATCHING = {
    "max_batch_size": (1, "Int64Value"),
    "batch_timeout_micros": (2, "Int64Value"),
    "max_enqueued_batches": (3, "Int64Value"),
    "num_batch_threads": (4, "Int64Value"),
    "thread_pool_name": (5, "StringValue"),
    "allowed_batch_sizes": (6, "int64[]"),
    "pad_variable_length_inputs": (7, "bool"),
    "enable_large_batch_splitting": (8, "BoolValue"),
    "max_execution_batch_size": (9, "Int64Value"),
}
PROMETHEUS = {"enable": (1, "bool"), "path": (2, "string")}
MONITORING = {"prometheus_config": (1, "PrometheusConfig")}


def message_types(**messages):
    """Make message types from the names, numbers and types of fields."""
    field = descriptor_pb2.FieldDescriptorProto
    plain = {"int64": field.TYPE_INT64, "bool": field.TYPE_BOOL}
    plain["string"] = field.TYPE_STRING
    file = descriptor_pb2.FileDescriptorProto(
        name="operators.proto",
        package="operators",
        syntax="proto3",
        dependency=["google/protobuf/wrappers.proto"],
    )
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for key, (number, kind) in fields.items():
            element = kind.removesuffix("[]")
            one = field.LABEL_OPTIONAL
            added = message.field.add(
                name=key,
                number=number,
                label=field.LABEL_REPEATED if element != kind else one,
                type=plain.get(element, field.TYPE_MESSAGE),
            )
            if element in messages:
                added.type_name = f".operators.{element}"
            elif element not in plain:
                added.type_name = f".google.protobuf.{element}"
    pool = descriptor_pool.DescriptorPool()
    wrappers = descriptor_pb2.FileDescriptorProto()
    wrappers_pb2.DESCRIPTOR.CopyToProto(wrappers)
    pool.Add(wrappers)
    pool.Add(file)
    return [
        message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"operators.{name}")
        )
        for name in messages
    ]


def parse(name, message):
    return text_format.Parse((FOLDER / name).read_text(), message)


def test_models_are_served_from_where_the_container_has_them():
    config = parse("models.config", model_server_config_pb2.ModelServerConfig())
    (model,) = config.model_config_list.config
    assert model.base_path == f"/models/{model.name}"
    assert model.model_platform == "tensorflow"
    assert model.model_version_policy.latest.num_versions == 1


def test_batches_grow_to_the_largest_allowed():
    (batching,) = message_types(BatchingParameters=BATCHING)
    config = parse("batching.config", batching())
    sizes = list(config.allowed_batch_sizes)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == config.max_batch_size.value
    # It would fill up with each tensor's first element.
    assert not config.pad_variable_length_inputs
    assert config.num_batch_threads.value >= 1


def test_metrics_are_switched_on():
    _, monitoring = message_types(
        PrometheusConfig=PROMETHEUS, MonitoringConfig=MONITORING
    )
    config = parse("monitoring.config", monitoring()).prometheus_config
    assert config.enable
    assert config.path in (FOLDER / "README.md").read_text()


def test_a_configuration_with_a_wrong_name_would_not_parse():
    (batching,) = message_types(BatchingParameters=BATCHING)
    with pytest.raises(text_format.ParseError, match="max_batch"):
        text_format.Parse("max_batch { value: 1 }", batching())


def test_compose_hands_the_stock_image_every_configuration():
    text = (FOLDER / "compose.yaml").read_text()
    (service,) = yaml.safe_load(text)["services"].values()
    assert "tensorflow/serving:" in service["image"]
    # Only from this machine: the server asks nobody who they are.
    assert service["ports"] == ["127.0.0.1:8500:8500", "127.0.0.1:8501:8501"]
    mounted = dict(
        volume.removesuffix(":ro").rsplit(":", 1)
        for volume in service["volumes"]
    )
    files = [name for name in mounted if name.endswith(".config")]
    assert {pathlib.Path(name).name for name in files} == {
        path.name for path in FOLDER.glob("*.config")
    }
    command = " ".join(service["command"])
    for name in files:
        assert (FOLDER / name).is_file()
        assert f"_file={mounted[name]}" in command
    assert "--enable_batching=true" in command
    health = " ".join(service["healthcheck"]["test"])
    assert "/v1/models/translator " in health
    assert 'name: "translator"' in (FOLDER / "models.config").read_text()


def test_the_readme_tells_of_every_file():
    text = (FOLDER / "README.md").read_text()
    for path in FOLDER.iterdir():
        assert path.name in text or path.name.startswith("__")
    for command in re.findall(r"python export/(\S+)", text):
        assert (FOLDER / command).is_file()


@pytest.mark.parametrize("name", ["client", "smoke_test", "load_test"])
def test_old_pythons_can_read_what_needs_the_standard_library_alone(name):
    source = (FOLDER / f"{name}.py").read_text()
    ast.parse(source, feature_version=(3, 6))
    known = {*sys.stdlib_module_names, "client"}
    imports = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert imports
    for node in imports:
        assert isinstance(node, ast.Import)
        assert {alias.name.split(".")[0] for alias in node.names} <= known


EXAMPLES = [
    {
        "signature": "serving_default",
        "inputs": {"text": ["a", "é", {"b64": "//4="}]},
        "outputs": {
            "text": ["a", "é", {"b64": "//4="}],
            "length": [1, 2, 2],
            "copy_bytes": ["a", "é", {"b64": "//4="}],
        },
    },
    {
        "signature": "multiply",
        "inputs": {"numbers": [[0.1, 0.2, 0.3]], "times": [7]},
        "outputs": {"product": [[1.4, 2.8, 4.2]]},
    },
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return echo.save(tmp_path_factory.mktemp("models") / "echo", xla=True)


@pytest.fixture(scope="module")
def server(folder):
    with serve(folder, grpc_port=0, rest_port=0) as server:
        yield server


def run(script, server, *arguments):
    """Run a script as an operator does, from another folder."""
    at = ["--server", f"http://127.0.0.1:{server.rest_port}"]
    return subprocess.run(
        [sys.executable, str(FOLDER / script), *at, *arguments],
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=120,
    )


def smoke_test(server, folder, examples, *arguments):
    path = folder / "1" / "assets.extra" / "examples.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(examples))
    return run("smoke_test.py", server, str(folder), *arguments)


def test_the_client_asks_by_text_by_name_and_for_metadata(server):
    answer = run("client.py", server, "--model", "echo", "a", "é")
    assert json.loads(answer.stdout)["text"] == ["a", "é"], answer.stderr
    inputs = json.dumps(EXAMPLES[1]["inputs"])
    by_name = ["--signature", "multiply", "--version", "1", "--inputs", inputs]
    answer = run("client.py", server, "--model", "echo", *by_name)
    (row,) = json.loads(answer.stdout)
    assert row == pytest.approx([1.4, 2.8, 4.2])
    answer = run("client.py", server, "--model", "echo", "--metadata")
    assert json.loads(answer.stdout)["model_spec"]["version"] == "1"


def test_the_client_sends_any_bytes_of_the_command_line(server):
    word = os.fsdecode(b"\xff\xfe")
    answer = run("client.py", server, "--model", "echo", word)
    assert json.loads(answer.stdout)["copy_bytes"] == [{"b64": "//4="}]


def test_the_client_says_what_the_server_complains_of(server):
    answer = run("client.py", server, "--model", "other", "a")
    assert answer.returncode == 1
    assert "HTTP 404: Servable not found" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_the_smoke_test_passes_where_the_answers_are_as_recorded(
    server, folder
):
    answer = smoke_test(server, folder, EXAMPLES, "--wait", "5")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "2 of 2 answers as recorded" in answer.stdout


@pytest.mark.parametrize(
    ("number", "output", "value", "complaint"),
    [
        (0, "text", ["a", "e", {"b64": "//4="}], "text[1]: '\\xe9', not 'e'"),
        (0, "length", [1, 2], "length: 3 items, not 2"),
        (0, "length", [True, 2, 2], "length[0]: 1, not True"),
        (0, "width", [1], "the outputs are"),
        (1, "product", [[1.4, 2.8, 4.3]], "product[0][2]: 4.2"),
    ],
)
def test_the_smoke_test_fails_on_any_difference(
    server, folder, number, output, value, complaint
):
    examples = json.loads(json.dumps(EXAMPLES))
    examples[number]["outputs"][output] = value
    answer = smoke_test(server, folder, examples)
    assert answer.returncode == 1
    assert f"DIFFERS  {complaint}" in answer.stdout
    assert "1 of 2 answers as recorded" in answer.stdout


def test_the_smoke_test_compares_compiled_signatures_if_asked_to(
    server, folder
):
    answer = smoke_test(server, folder, EXAMPLES, "--xla")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert re.search(r"multiply_xla +as recorded", answer.stdout)
    assert "3 of 3 answers as recorded" in answer.stdout
    examples = json.loads(json.dumps(EXAMPLES))
    examples[1]["outputs"]["product"][0][2] = 4.3
    answer = smoke_test(server, folder, examples, "--xla")
    assert answer.returncode == 1
    assert re.search(
        r"multiply_xla +DIFFERS  product\[0\]\[2\]: 4.2", answer.stdout
    )
    assert "1 of 3 answers as recorded" in answer.stdout


def test_the_smoke_test_fails_where_it_could_compare_nothing_compiled(
    server, folder, tmp_path
):
    answer = smoke_test(server, folder, EXAMPLES[:1], "--xla")
    assert answer.returncode == 1
    assert "no example was recorded for ['multiply_xla']" in answer.stderr
    plain = echo.save(tmp_path / "plain")
    with serve(plain, grpc_port=0, rest_port=0) as server:
        answer = smoke_test(server, plain, EXAMPLES, "--xla")
    assert answer.returncode == 1
    assert "has no signature *_xla: export with xla=True" in answer.stderr


def test_the_smoke_test_fails_without_examples_or_without_a_server(
    server, folder
):
    assert smoke_test(server, folder, []).returncode == 1
    answer = smoke_test(server, folder, EXAMPLES, "--model", "other")
    assert answer.returncode == 1
    assert "Could not find any versions of model other" in answer.stderr


def test_the_load_test_measures_rest(server):
    arguments = ["--requests", "40", "--concurrency", "1,3", "--rows", "2"]
    answer = run("load_test.py", server, "--model", "echo", *arguments, "a")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    heads, *lines = [line.split() for line in answer.stdout.splitlines()]
    assert heads[:2] == ["connections", "requests/s"]
    assert [line[0] for line in lines] == ["1", "3"]
    for line in lines:
        rate, *times, errors = map(float, line[1:])
        assert rate > 0
        assert times == sorted(times)
        assert errors == 0


def test_the_load_test_fails_when_requests_do(server):
    arguments = ["--requests", "4", "--concurrency", "2"]
    answer = run("load_test.py", server, "--model", "other", *arguments, "a")
    assert answer.returncode == 1
    assert "4 x HTTP 404" in answer.stdout


@pytest.fixture
def run_here(monkeypatch, capfdbinary):
    """Run a script in this process: importing TensorFlow takes seconds."""
    monkeypatch.syspath_prepend(FOLDER)

    def run(script, *arguments):
        monkeypatch.setattr(sys, "argv", [script, *arguments])
        status = None
        try:
            runpy.run_path(str(FOLDER / script), run_name="__main__")
        except SystemExit as error:
            status = error.code
        for name in ("client", "grpc_client"):
            sys.modules.pop(name, None)
        return status, capfdbinary.readouterr().out.decode()

    return run


def test_the_grpc_client_asks_by_text_and_by_name(server, run_here):
    at = ["--model", "echo", "--server", f"127.0.0.1:{server.grpc_port}"]
    status, answer = run_here("grpc_client.py", *at, "a", "é")
    assert not status
    assert json.loads(answer)["text"] == ["a", "é"]
    inputs = json.dumps(EXAMPLES[1]["inputs"])
    by_name = ["--signature", "multiply", "--inputs", inputs]
    status, answer = run_here("grpc_client.py", *at, *by_name)
    assert not status
    (row,) = json.loads(answer)["product"]
    assert row == pytest.approx([1.4, 2.8, 4.2])


def test_the_grpc_client_says_what_the_server_complains_of(server, run_here):
    at = ["--model", "echo", "--server", f"127.0.0.1:{server.grpc_port}"]
    status, _ = run_here("grpc_client.py", *at, "--signature", "sing", "a")
    assert "no signature 'sing'" in status
    status, _ = run_here("grpc_client.py", *at, "--inputs", '{"test": ["a"]}')
    assert "INVALID_ARGUMENT" in status
    at[1] = "other"
    status, _ = run_here("grpc_client.py", *at, "a")
    assert "NOT_FOUND: Servable not found" in status


def test_the_load_test_measures_grpc(server, run_here):
    at = ["--model", "echo", "--grpc", f"127.0.0.1:{server.grpc_port}"]
    arguments = ["--requests", "20", "--concurrency", "2", "a"]
    status, table = run_here("load_test.py", *at, *arguments)
    assert not status
    connections, rate, *_, errors = table.splitlines()[1].split()
    assert (connections, errors) == ("2", "0")
    assert float(rate) > 0
