"""Measure a running server: requests per second, and how long they take.

    python export/load_test.py --model translator "Good morning."
    python export/load_test.py --model translator --grpc localhost:8500 \\
        --concurrency 1,8,32 --rows 4 --requests 2000 "Good morning."

For each concurrency it sends the requests over so many connections, each of
which waits for its answer before the next, and prints a line. The status is 1
if a request failed. REST needs nothing but Python 3.6 or newer; --grpc needs
`pip install tensorflow-serving-api`.
"""

import argparse
import collections
import http.client
import itertools
import json
import math
import sys
import threading
import time
import urllib.parse

import client

PERCENTILES = (50, 90, 95, 99, 100)


def rest_sender(options, inputs):
    """Return what makes, for each thread, a function that sends one."""
    url = client.model_url(options.server, options.model)
    parts = urllib.parse.urlsplit(url)
    kinds = {
        "http": http.client.HTTPConnection,
        "https": http.client.HTTPSConnection,
    }
    body = json.dumps({"signature_name": options.signature, "inputs": inputs})

    def connect():
        connection = kinds[parts.scheme](parts.netloc, timeout=options.timeout)

        def send():
            connection.request(
                "POST",
                f"{parts.path}:predict",
                body.encode(),
                {"Content-Type": "application/json"},
            )
            response = connection.getresponse()
            text = response.read()
            if response.status != 200:
                raise OSError(f"HTTP {response.status}: {text[:200]!r}")

        return send

    return connect


def grpc_sender(options, inputs):
    """As `rest_sender`, over gRPC."""
    import grpc
    import grpc_client

    first = grpc_client.connect(options.grpc)
    dtypes = grpc_client.input_dtypes(first, options.model, options.signature)
    request = grpc_client.make_request(
        options.model, options.signature, inputs, dtypes
    )

    def connect():
        stub = grpc_client.connect(options.grpc)

        def send():
            try:
                stub.Predict(request, timeout=options.timeout)
            except grpc.RpcError as error:
                raise OSError(f"{error.code()}: {error.details()}") from None

        return send

    return connect


def measure(connect, requests, concurrency):
    """Send the requests; return the seconds of each, of all, and errors."""
    numbers = iter(range(requests))
    lock = threading.Lock()
    durations, errors = [], collections.Counter()

    def work():
        send = connect()
        while True:
            with lock:
                if next(numbers, None) is None:
                    return
            start = time.perf_counter()
            try:
                send()
            except (OSError, http.client.HTTPException) as error:
                with lock:
                    errors[str(error)] += 1
                send = connect()
            else:
                durations.append(time.perf_counter() - start)

    threads = [threading.Thread(target=work) for _ in range(concurrency)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return durations, time.perf_counter() - start, errors


def percentile(values, percent):
    """The smallest value that so many percent do not exceed."""
    place = math.ceil(len(values) * percent / 100)
    return sorted(values)[max(place, 1) - 1]


def rows_of(text, count):
    """Return so many rows, the texts in turn."""
    return list(itertools.islice(itertools.cycle(text), count))


def main(arguments=None):
    """Measure what the command line says; the status is 1 after an error."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("text", nargs="*", help="rows of the only input")
    parser.add_argument("--server", default="http://localhost:8501")
    parser.add_argument("--grpc", help="host:port; over gRPC instead of REST")
    parser.add_argument("--model", required=True)
    parser.add_argument("--signature", default="serving_default")
    parser.add_argument("--inputs", help="JSON: a list for each input's name")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument(
        "--concurrency",
        type=lambda text: [int(number) for number in text.split(",")],
        default=[1, 8],
        help="one number, or several with commas; 1,8 by default",
    )
    parser.add_argument("--rows", type=int, help="rows of each request")
    parser.add_argument("--timeout", type=float, default=60.0)
    options = parser.parse_args(arguments)
    if bool(options.text) == bool(options.inputs):
        parser.error("give texts or --inputs")
    if options.inputs:
        inputs = json.loads(options.inputs)
    else:
        inputs = rows_of(options.text, options.rows or len(options.text))
    connect = (grpc_sender if options.grpc else rest_sender)(options, inputs)
    heads = ["connections", "requests/s", *(f"p{p} ms" for p in PERCENTILES)]
    print("".join(f"{head:>12}" for head in [*heads, "errors"]))
    failed = False
    for concurrency in options.concurrency:
        # The first answers wait for the model to warm up.
        measure(connect, 2 * concurrency, concurrency)
        durations, seconds, errors = measure(
            connect, options.requests, concurrency
        )
        times = [
            1000 * percentile(durations, p) if durations else math.nan
            for p in PERCENTILES
        ]
        cells = [
            f"{len(durations) / seconds:.1f}",
            *(f"{t:.1f}" for t in times),
        ]
        cells = [str(concurrency), *cells, str(sum(errors.values()))]
        print("".join(f"{cell:>12}" for cell in cells))
        for message, count in errors.most_common(3):
            print(f"{count:>12} x {message}")
        failed = failed or bool(errors)
    sys.exit(failed)


if __name__ == "__main__":
    main()
