"""A server for the loopback interface that speaks as TF Serving does."""

import contextlib
import pathlib
import signal
import threading
from concurrent import futures

from keras_attn.base.wait_notice import WaitNotice
from keras_attn.export.server.grpc_service import grpc_server
from keras_attn.export.server.rest_service import rest_server
from keras_attn.export.server.served_models import ServedModel

# TensorFlow has threads of its own; these wait for it without Python's lock.
THREADS = 8


class LoopbackServer:
    """What `serve` starts; a context manager that ends with its block.

    It is there to try clients and exports: production is TF Serving.

    Attributes:
        model_name: What clients call the model.
        host: The address it listens at.
        grpc_port, rest_port: The ports it listens at.
    """

    def __init__(
        self,
        folder: str | pathlib.Path,
        *,
        model_name: str,
        host: str,
        grpc_port: int,
        rest_port: int,
        poll_seconds: float,
        disable_xla: bool,
    ):
        self.model_name = model_name
        self.host = host
        with contextlib.ExitStack() as stack:
            with WaitNotice("keras_attn.export", f"loading {folder}"):
                model = ServedModel(
                    folder,
                    model_name,
                    poll_seconds=poll_seconds,
                    disable_xla=disable_xla,
                )
            stack.callback(model.close)
            pool = stack.enter_context(futures.ThreadPoolExecutor(THREADS))
            self.grpc_port = stack.enter_context(
                grpc_server(model, pool, host, grpc_port)
            )
            self.rest_port = stack.enter_context(
                rest_server(model, pool, host, rest_port)
            )
            self._stack = stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        """Give the answers under way, then free ports, threads and memory."""
        self._stack.close()

    def run_until_stopped(self):
        """Wait for SIGINT or SIGTERM, then close; for the main thread."""
        stopped = threading.Event()
        before = {
            number: signal.signal(number, lambda *_: stopped.set())
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            # A signal may reach another thread, which does not end a wait.
            while not stopped.wait(0.2):
                pass
        finally:
            self.close()
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(
    folder: str | pathlib.Path,
    *,
    model_name: str | None = None,
    host: str = "127.0.0.1",
    grpc_port: int = 8500,
    rest_port: int = 8501,
    poll_seconds: float = 1.0,
    disable_xla: bool = False,
) -> LoopbackServer:
    """Serve the newest version of an exported model, to try it out.

    It speaks TF Serving's gRPC and REST and runs the same C++ session, so
    that clients and exports can be tried without a container. It has neither
    batching nor metrics nor security: production is TF Serving.

    Args:
        folder: Holds the versions, as `export_model` writes them.
        model_name: What clients call the model; the folder's name if None.
        host: Address to listen at.
        grpc_port, rest_port: Ports to listen at; 0 for free ones.
        poll_seconds: How often to look for another version.
        disable_xla: Whether to switch XLA off, as TF Serving does. It then
            stays off for this whole process.

    Returns:
        The `LoopbackServer`, at work until its `close`.

    Raises:
        FileNotFoundError: If there is no version.
        OSError: If a port is taken.
    """
    return LoopbackServer(
        folder,
        model_name=model_name or pathlib.Path(folder).resolve().name,
        host=host,
        grpc_port=grpc_port,
        rest_port=rest_port,
        poll_seconds=poll_seconds,
        disable_xla=disable_xla,
    )
