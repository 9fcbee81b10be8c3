import collections
import contextlib
import functools
import http.client
import json
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent import futures

import grpc
import pytest
from tensorflow_serving.apis import prediction_service_pb2_grpc

from keras_attn.base.wait_notice import WaitNotice
from keras_attn.export.server import loopback_server
from keras_attn.export.server.loopback_server import serve
from tests.export import echo

ROOT = pathlib.Path(__file__).parents[3]
Started = collections.namedtuple("Started", ["process", "rest", "grpc"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return echo.save(tmp_path_factory.mktemp("models") / "echo")


@pytest.fixture(scope="module")
def server(folder):
    with serve(folder, grpc_port=0, rest_port=0) as server:
        yield server


@pytest.fixture(scope="module")
def separate(folder):
    """A server in a process of its own, which ends in any case."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "keras_attn.export", "serve", str(folder)),
            *("--grpc_port", "0", "--rest_port", "0"),
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            ports = re.findall(r"127.0.0.1:(\d+)", process.stdout.readline())
            yield Started(process, *map(int, ports))
        finally:
            process.kill()


@contextlib.contextmanager
def connected(port):
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield prediction_service_pb2_grpc.PredictionServiceStub(channel)


def test_one_model_answers_over_both_interfaces(server):
    assert server.model_name == "echo"
    with connected(server.grpc_port) as stub:
        request = echo.predict_request(text=["four"])
        response = stub.Predict(request, timeout=60)
    assert response.outputs["length"].int_val == [4]
    status, answer = echo.http(
        server.rest_port, "/v1/models/echo:predict", {"inputs": ["four"]}
    )
    assert (status, answer["outputs"]["length"]) == (200, [4])


def test_a_closed_server_is_gone_with_its_threads(folder):
    before = threading.active_count()
    server = serve(folder, grpc_port=0, rest_port=0)
    assert echo.http(server.rest_port, "/v1/models/echo")[0] == 200
    server.close()
    server.close()  # twice does no harm
    with pytest.raises(OSError, match="refused"):
        echo.http(server.rest_port, "/v1/models/echo")
    assert threading.active_count() <= before


def test_the_model_can_have_another_name(folder):
    options = {"grpc_port": 0, "rest_port": 0, "model_name": "parrot"}
    with serve(folder, **options) as server:
        assert echo.http(server.rest_port, "/v1/models/parrot")[0] == 200
        assert echo.http(server.rest_port, "/v1/models/echo")[0] == 404


def test_a_server_that_cannot_start_leaves_nothing_behind(
    server, folder, tmp_path
):
    before = threading.active_count()
    with pytest.raises(OSError, match=str(server.rest_port)):
        serve(folder, grpc_port=0, rest_port=server.rest_port)
    with pytest.raises(OSError, match=str(server.grpc_port)):
        serve(folder, grpc_port=server.grpc_port, rest_port=0)
    assert threading.active_count() <= before
    assert echo.http(server.rest_port, "/v1/models/echo")[0] == 200
    with pytest.raises(FileNotFoundError, match="holds no version"):
        serve(tmp_path, grpc_port=0, rest_port=0)


def burst(port, count):
    """Send all requests before the first answer is looked at."""
    request = echo.predict_request(text=[b"small"])
    with connected(port) as stub:
        waiting = [stub.Predict.future(request) for _ in range(count)]
        lengths = [
            answer.result(timeout=300).outputs["length"].int_val[0]
            for answer in waiting
        ]
    assert lengths == [5] * count


def resident(process):
    """Megabytes of memory that a process, or "self", uses."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    (kilobytes,) = [
        line.split()[1]
        for line in status.splitlines()
        if line.startswith("VmRSS")
    ]
    return int(kilobytes) / 1024


def test_a_burst_waits_for_its_turn(server):
    burst(server.grpc_port, 1200)


def test_large_requests_leave_no_memory_behind(server):
    request = echo.predict_request(text=[b"x" * 2**20])
    sizes = []
    with connected(server.grpc_port) as stub:
        for _ in range(2):
            for _ in range(50):
                stub.Predict(request, timeout=60)
            sizes.append(resident("self"))
    # A leak of one copy of each request would be 50 MB.
    assert sizes[1] < sizes[0] + 25


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it(folder, stop):
    before = signal.getsignal(stop)
    server = serve(folder, grpc_port=0, rest_port=0)

    def send():
        # Too early, it would end the tests.
        for _ in range(6000):
            if signal.getsignal(stop) is not before:
                signal.raise_signal(stop)
                break
            time.sleep(0.01)

    sender = threading.Thread(target=send)
    sender.start()
    server.run_until_stopped()
    sender.join()
    assert signal.getsignal(stop) is before
    with pytest.raises(OSError, match="refused"):
        echo.http(server.rest_port, "/v1/models/echo")


@pytest.mark.slow
def test_ten_thousand_requests_at_once_over_grpc(separate):
    burst(separate.grpc, 10_000)
    warm = resident(separate.process.pid)
    burst(separate.grpc, 10_000)
    assert resident(separate.process.pid) < warm + 30


@pytest.mark.slow
def test_ten_thousand_requests_over_a_hundred_connections(separate):
    body = json.dumps({"inputs": ["small"]})

    def ask(count):
        connection = http.client.HTTPConnection("127.0.0.1", separate.rest)
        for _ in range(count):
            connection.request("POST", "/v1/models/echo:predict", body)
            response = connection.getresponse()
            answer = json.loads(response.read())
            assert (response.status, answer["outputs"]["length"]) == (200, [5])
        connection.close()
        return count

    with futures.ThreadPoolExecutor(100) as pool:
        assert sum(pool.map(ask, [100] * 100)) == 10_000


@pytest.mark.slow
def test_a_signal_ends_the_process_cleanly(separate):
    separate.process.send_signal(signal.SIGTERM)
    assert separate.process.wait(timeout=60) == 0


def test_it_says_that_it_loads_if_that_takes_long(folder, monkeypatch, capsys):
    at_once = functools.partial(WaitNotice, after=0.0)
    monkeypatch.setattr(loopback_server, "WaitNotice", at_once)
    with serve(folder, grpc_port=0, rest_port=0):
        assert f"loading {folder} ..." in capsys.readouterr().err
