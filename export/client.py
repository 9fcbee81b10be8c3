"""Ask a running server over REST; needs nothing but Python 3.6 or newer.

    python export/client.py --model translator "Good morning."
    python export/client.py --model translator --signature score \\
        --inputs '{"text": ["Good morning."], "answer": ["Bonjour."]}'
    python export/client.py --model translator --metadata
"""

import argparse
import base64
import json
import sys
import urllib.error
import urllib.parse
import urllib.request


class RequestError(Exception):
    """The server refused: `status` is its HTTP status, the text its reason."""

    def __init__(self, status, message):
        super().__init__(f"HTTP {status}: {message}")
        self.status = status


def ask(url, body=None, timeout=60.0):
    """Get `url`, or post `body` to it, and return the JSON that comes back."""
    request = urllib.request.Request(
        url,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            # A model may give bytes that are no text: keep them.
            answer = response.read().decode("utf-8", "surrogateescape")
    except urllib.error.HTTPError as error:
        text = error.read().decode("utf-8", "replace")
        try:
            text = json.loads(text)["error"]
        except (ValueError, KeyError, TypeError):
            pass  # a proxy on the way answers in its own words
        raise RequestError(error.code, text) from None
    return json.loads(answer)


def model_url(server, model, version=None):
    """The address of a model, or of one of its versions."""
    name = urllib.parse.quote(model, safe="")
    url = f"{server.rstrip('/')}/v1/models/{name}"
    return url if version is None else f"{url}/versions/{version}"


def predict(url, inputs, signature="serving_default", timeout=60.0):
    """Return the outputs by name; bare when there is only one.

    `inputs` holds a list for each input by its name, or one list for the
    only input there is. Bytes that are no text go as `{"b64": "..."}`.
    """
    body = {"signature_name": signature, "inputs": inputs}
    return ask(f"{url}:predict", body, timeout)["outputs"]


def row(argument):
    """A word of the command line as JSON, whatever its bytes are."""
    data = argument.encode("utf-8", "surrogateescape")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(data).decode()}


def main(arguments=None):
    """Ask what the command line says, and print the answer as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("text", nargs="*", help="rows of the only input")
    parser.add_argument("--server", default="http://localhost:8501")
    parser.add_argument("--model", required=True)
    parser.add_argument("--version", type=int, help="the newest by default")
    parser.add_argument("--signature", default="serving_default")
    parser.add_argument("--inputs", help="JSON: a list for each input's name")
    parser.add_argument("--metadata", action="store_true")
    parser.add_argument("--timeout", type=float, default=60.0)
    options = parser.parse_args(arguments)
    asked = [options.text, options.inputs, options.metadata]
    if sum(map(bool, asked)) != 1:
        parser.error("give one of: texts, --inputs, --metadata")
    url = model_url(options.server, options.model, options.version)
    try:
        if options.metadata:
            answer = ask(f"{url}/metadata", timeout=options.timeout)
        else:
            inputs = [row(text) for text in options.text]
            inputs = inputs or json.loads(options.inputs)
            answer = predict(url, inputs, options.signature, options.timeout)
    except (RequestError, OSError, ValueError) as error:
        sys.exit(f"{url}: {error}")
    text = json.dumps(answer, indent=2, ensure_ascii=False)
    # Not by `print`: the terminal's encoding may lack a letter.
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape") + b"\n")


if __name__ == "__main__":
    main()
