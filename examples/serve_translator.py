"""Train a translator, export it, serve it and ask it: the whole road.

    python -m examples.serve_translator
    python -m examples.serve_translator --data emoji --steps 3000
    python -m examples.serve_translator --help

What is exported is one SavedModel, text in and text out, that TF Serving runs;
here the loopback server of keras_attn.export stands in for it.
"""

import dataclasses
import json
import pathlib
import subprocess
import sys

from examples import flags
from examples import translate
from keras_attn import export

CLIENT = pathlib.Path(__file__).parent.parent / "export" / "client.py"


@dataclasses.dataclass(frozen=True)
class Config(translate.Config):
    """Settings of the translator that is served."""

    folder: str = "build/demo"


def export_translator(config, translator, sentences, scores):
    """Write the next version of the model, tried in the C++ loader."""
    folder = pathlib.Path(config.folder) / "translator"
    print("Exporting; the C++ loader of TF Serving tries it first", flush=True)
    path = export.export_model(
        translator,
        folder,
        warmup=sentences,
        metadata={
            "description": "A small Transformer that translates phrases.",
            "data": f"The built-in source {config.data!r} of keras_attn.data.",
            "scores": scores,
        },
    )
    print(f"Exported: {path}")
    export.verify(path)
    return path


def ask(path, sentence):
    """Serve the model and have the client of `export/` ask it."""
    folder = path.parent
    with export.serve(folder, grpc_port=0, rest_port=0) as server:
        url = f"http://{server.host}:{server.rest_port}"
        print(f"Serving {folder} at {url}")
        command = ["--server", url, "--model", server.model_name, sentence]
        client = subprocess.run(
            [sys.executable, str(CLIENT), *command],
            stdout=subprocess.PIPE,
            timeout=60,
            check=True,
        )
    return json.loads(client.stdout)["text"][0]


def main(config):
    """Go the whole road, and return the sentence and the served answer."""
    translator = translate.train(config)
    sentences, bleu, right = translate.score(config, translator)
    path = export_translator(
        config,
        translator,
        sentences[:3],
        {"BLEU": round(bleu, 1), "right to the letter": f"{right:.1%}"},
    )
    answer = ask(path, sentences[0])
    picture = translate.draw(config, translator, sentences[0])
    print("The served model was asked:")
    print(f"  {sentences[0]} -> {answer}")
    print(f"Attention weights: {picture}")
    return sentences[0], answer


if __name__ == "__main__":
    main(flags.parse(Config))
