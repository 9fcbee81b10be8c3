"""Compare a running server's answers with those recorded at the export.

    python export/smoke_test.py build/demo/translator --wait 60

It asks over REST every example in the version that the server serves, prints
a line for each, and ends with status 1 if an answer differs. With --xla it
asks each XLA signature, `*_xla`, what the plain signature was asked, and wants
the same answer. It needs nothing but Python 3.6 or newer, and `client.py`
beside it.
"""

import argparse
import base64
import json
import math
import pathlib
import sys
import time

import client

EXAMPLES = pathlib.Path("assets.extra", "examples.json")
# What is added to the name of a signature for its XLA signature.
COMPILED = "_xla"


def served_version(url, wait):
    """Return the newest version that answers, after `wait` seconds at most."""
    end = time.monotonic() + wait
    while True:
        try:
            versions = [
                int(version["version"])
                for version in client.ask(url)["model_version_status"]
                if version["state"] == "AVAILABLE"
            ]
            if versions:
                return max(versions)
            reason = "no version of the model is available"
        except (client.RequestError, OSError) as error:
            reason = str(error)
        if time.monotonic() >= end:
            sys.exit(f"{url}: {reason}")
        time.sleep(1.0)


def differences(wanted, received, tolerance, where=""):
    """Yield where and how two answers differ."""
    if isinstance(wanted, list) and isinstance(received, list):
        if len(wanted) != len(received):
            yield f"{where}: {len(received)} items, not {len(wanted)}"
            return
        for number, value in enumerate(wanted):
            place = f"{where}[{number}]"
            yield from differences(value, received[number], tolerance, place)
    elif not same(wanted, received, tolerance):
        yield f"{where}: {shown(received)}, not {shown(wanted)}"


def same(wanted, received, tolerance):
    """Whether two values are the same text, or numbers close to each other."""
    if isinstance(wanted, (str, dict)) and isinstance(received, (str, dict)):
        return as_bytes(wanted) == as_bytes(received)
    numbers = (wanted, received)
    if type(wanted) is bool or type(received) is bool:
        return wanted is received
    if not all(isinstance(number, (int, float)) for number in numbers):
        return False
    if all(math.isnan(number) for number in numbers):
        return True
    return math.isclose(*numbers, rel_tol=tolerance, abs_tol=tolerance)


def as_bytes(text):
    """A string of the answer, whether it came as text or in base 64."""
    if isinstance(text, dict):
        return base64.b64decode(text["b64"])
    return text.encode("utf-8", "surrogateescape")


def shown(value):
    """A value in at most 60 characters of any terminal."""
    return ascii(value)[:60]


def xla_examples(url, examples, timeout):
    """The examples of signatures that have an XLA signature, for that."""
    try:
        metadata = client.ask(f"{url}/metadata", timeout=timeout)["metadata"]
    except (client.RequestError, OSError) as error:
        sys.exit(f"{url}: {error}")
    names = {
        name
        for name in metadata["signature_def"]["signature_def"]
        if name.endswith(COMPILED)
    }
    if not names:
        sys.exit(f"{url} has no signature *{COMPILED}: export with xla=True")
    compiled = [
        dict(example, signature=example["signature"] + COMPILED)
        for example in examples
        if example["signature"] + COMPILED in names
    ]
    alone = names - {example["signature"] for example in compiled}
    if alone:
        sys.exit(f"{url}: no example was recorded for {sorted(alone)}")
    return compiled


def compare(url, example, options):
    """Return what is wrong with the server's answer to an example."""
    signature, wanted = example["signature"], example["outputs"]
    try:
        received = client.predict(
            url, example["inputs"], signature, options.timeout
        )
    except (client.RequestError, OSError) as error:
        return [str(error)]
    if len(wanted) == 1:
        received = dict.fromkeys(wanted, received)
    if set(wanted) != set(received):
        return [f"the outputs are {sorted(received)}, not {sorted(wanted)}"]
    return [
        difference
        for name in sorted(wanted)
        for difference in differences(
            wanted[name], received[name], options.tolerance, name
        )
    ]


def main(arguments=None):
    """Compare what the command line says; the status is 1 on a difference."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=pathlib.Path, help="of the versions")
    parser.add_argument("--server", default="http://localhost:8501")
    parser.add_argument("--model", help="the folder's name by default")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--wait", type=float, default=0.0, help="seconds")
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument(
        "--xla", action="store_true", help="ask the compiled signatures too"
    )
    options = parser.parse_args(arguments)
    model = options.model or options.folder.resolve().name
    url = client.model_url(options.server, model)
    version = served_version(url, options.wait)
    path = options.folder / str(version) / EXAMPLES
    if not path.is_file():
        sys.exit(f"The server has version {version}, and there is no {path}")
    url = client.model_url(options.server, model, version)
    examples = json.loads(path.read_text(encoding="utf-8"))
    if options.xla:
        examples += xla_examples(url, examples, options.timeout)
    wrong = 0
    for number, example in enumerate(examples):
        found = compare(url, example, options)
        wrong += bool(found)
        print(f"{number:4}  {example['signature']:28}  {verdict(found)}")
    print(f"{len(examples) - wrong} of {len(examples)} answers as recorded")
    sys.exit(bool(wrong) or not examples)


def verdict(found):
    """Say in one line how an answer was."""
    if not found:
        return "as recorded"
    more = f" (and {len(found) - 1} more)" if found[1:] else ""
    return f"DIFFERS  {found[0]}{more}"


if __name__ == "__main__":
    main()
