"""Ask a model over gRPC or in this process, and measure its answers."""

import contextlib
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures

import tensorflow as tf

from keras_attn import decoding
from keras_attn.extras import require

START_SECONDS, STOP_SECONDS, ANSWER_SECONDS = 180.0, 30.0, 120.0


@contextlib.contextmanager
def served(folder: pathlib.Path):
    """Serve the versions in a folder from a process of its own.

    Yields:
        A function that asks it over gRPC, from texts to answers.
    """
    command = [sys.executable, "-m", "keras_attn.export", "serve", str(folder)]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [*command, "--grpc_port", "0", "--rest_port", "0"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ},
        )
        with process:
            try:
                address = _address(process, errors)
                with _client(address, folder.name) as answer:
                    yield answer
            finally:
                process.terminate()
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()


def in_process(model, tokenizer, search: str, max_length: int, options: dict):
    """A function that answers in Python, from texts to answers."""
    # Op by op, tokenizing would take longer than a short answer.
    read = tf.function(
        tokenizer.__call__,
        input_signature=[tf.TensorSpec([None], tf.string)],
        autograph=False,
    )
    write = tf.function(
        tokenizer.detokenize,
        input_signature=[tf.TensorSpec([None, None], tf.int32)],
        autograph=False,
    )

    def answer(texts):
        tokens = decoding.generate(
            model,
            read(tf.constant(texts)),
            search=search,
            max_length=max_length,
            end_id=tokenizer.end_id,
            **options,
        )
        if search == "beam":
            tokens = tokens[0][:, 0]  # (batch, new)
        return write(tokens).numpy().tolist()

    return answer


def best_turns(
    sides: dict,
    batches: list[list[str]],
    *,
    concurrency: int,
    rounds: int,
    requests: int,
    seconds: float,
) -> dict[str, dict]:
    """Ask sides in turns; the turn of each with the most requests per second.

    Args:
        sides: Functions from texts to answers, by name.
        batches: The requests, which are sent again and again.
        concurrency: How many are under way at once.
        rounds: How many turns each side gets.
        requests, seconds: A turn ends after so many, or so long.

    Returns:
        For each side what `turn` returned.
    """
    best = {}
    for _ in range(rounds):
        for name, answer in sides.items():
            new = turn(
                answer,
                batches,
                concurrency=concurrency,
                requests=requests,
                seconds=seconds,
            )
            if name not in best or new["rate"] > best[name]["rate"]:
                best[name] = new
    return best


def turn(
    answer,
    batches: list[list[str]],
    *,
    concurrency: int,
    requests: int,
    seconds: float,
) -> dict:
    """Send requests, each worker the next one when it has its answer.

    Returns:
        `{"rate", "durations"}`: requests/s, and the seconds
        that each took, the shortest first.
    """
    numbers = iter(range(requests))
    lock = threading.Lock()

    def work():
        durations = []
        while True:
            started = time.perf_counter()
            # However short the turn, there is something to tell of it.
            late = durations and started > end
            with lock:
                number = None if late else next(numbers, None)
            if number is None:
                return durations
            answer(batches[number % len(batches)])
            durations.append(time.perf_counter() - started)

    with futures.ThreadPoolExecutor(concurrency) as pool:
        start = time.perf_counter()
        end = start + seconds
        workers = [pool.submit(work) for _ in range(concurrency)]
        durations = sorted(x for each in workers for x in each.result())
        taken = time.perf_counter() - start
    return {"rate": len(durations) / taken, "durations": durations}


def percentile(durations: list[float], percent: float) -> float:
    """The shortest duration that so many percent do not exceed.

    Args:
        durations: At least one, the shortest first.
        percent: Above 0, up to 100.
    """
    return durations[math.ceil(len(durations) * percent / 100) - 1]


@contextlib.contextmanager
def _client(address, model_name):
    grpc = require("grpc", extra="serving")
    require("tensorflow_serving", extra="serving")
    from tensorflow_serving.apis import predict_pb2
    from tensorflow_serving.apis import prediction_service_pb2_grpc

    with grpc.insecure_channel(address) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)

        def answer(texts):
            request = predict_pb2.PredictRequest()
            request.model_spec.name = model_name
            proto = tf.make_tensor_proto(texts, tf.string)
            request.inputs["text"].CopyFrom(proto)
            response = stub.Predict(request, timeout=ANSWER_SECONDS)
            return tf.make_ndarray(response.outputs["text"]).tolist()

        yield answer


def _address(process, errors):
    """Wait for the line in which the server says where it listens."""
    timer = threading.Timer(START_SECONDS, process.kill)
    timer.start()
    try:
        line = process.stdout.readline()
    finally:
        timer.cancel()
    found = re.search(r"gRPC at (\S+:\d+)", line)
    if not found:
        errors.seek(0)
        # Before the last line there are TensorFlow's notes, or a traceback.
        *_, last = ["", *errors.read().splitlines()]
        raise RuntimeError(f"The server did not start. {last}")
    return found[1]
