"""The commands of `python -m keras_attn.export`."""

import argparse
import pathlib
import shlex
import sys
import textwrap
from collections.abc import Sequence

from keras_attn.export.bundle.inspection import inspect
from keras_attn.export.bundle.sample_request import sample_request
from keras_attn.export.bundle.text_tables import text_table
from keras_attn.export.huggingface import export_huggingface
from keras_attn.export.settings import chat_template
from keras_attn.export.verify.verification import verify

_EXAMPLES = """\
examples:
  python -m keras_attn.export huggingface ~/opus-mt-en-de build/translator
  python -m keras_attn.export verify build/translator
  python -m keras_attn.export inspect build/translator/3
  python -m keras_attn.export serve build/translator --rest_port 8501
"""
_PATH = "a version's folder, or the folder above for the newest version"

# What may stand in place of a folder's settings, each with its kind and words.
_SETTINGS = {
    "max_length": (int, "most tokens to write; to read, where none is written"),
    "prompt_length": (int, "most tokens to read of a prompt"),
    "source_length": (int, "most tokens to read of a source"),
    "width": (int, "beams"),
    "length_penalty": (float, "of beams"),
    "temperature": (float, "of samples"),
    "top_k": (int, "tokens that samples are drawn from, 0 for all"),
    "top_p": (float, "probability that samples are drawn from"),
    "repetition_penalty": (float, "of tokens that came before"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: Words after the program's name; None for those it was
            started with.

    Returns:
        0, or 1 if the model fails, with a sentence on standard error.
    """
    options = vars(_parser().parse_args(arguments))
    command = options.pop("command")
    try:
        command(**options)
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _verify(path, timeout):
    verify(path, timeout=timeout)
    print(f"{path}: every answer is as recorded.")


def _huggingface(folder, destination, **settings):
    path = export_huggingface(folder, destination, **settings)
    report = inspect(path, verbose=False)
    rows = [("verb", "takes", "answers")]
    for name, signature in report["signatures"].items():
        if name != "serving_default":
            rows.append((name, *map(", ".join, signature.values())))
    print(f"{path} answers as recorded in the C++ loader.", end="\n\n")
    print(text_table(rows))
    template = chat_template.describe(pathlib.Path(folder))
    if template is not None:
        print(template, end="\n\n")
    print(
        "Serve it with TF Serving, or, to try it out, with\n"
        "    python -m keras_attn.export serve "
        f"{shlex.quote(str(destination))}\n"
        "and ask it with\n"
        f"    {sample_request(path)}"
    )


def _serve(folder, **options):
    # It needs the extra "serving".
    from keras_attn.export.server.loopback_server import serve

    server = serve(folder, **options)
    print(
        f"Model {server.model_name!r} answers REST at "
        f"http://{server.host}:{server.rest_port} and gRPC at "
        f"{server.host}:{server.grpc_port}. Stop it with Ctrl+C.",
        flush=True,
    )
    server.run_until_stopped()


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m keras_attn.export",
        description="Export published models; check, look into and try out "
        "exported ones.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name, function, description):
        command = commands.add_parser(
            name,
            help=description.partition(".")[0],
            description=textwrap.fill(description, 78),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(command=function)
        return command

    command = add(
        "huggingface",
        _huggingface,
        "Export a model that Hugging Face's libraries have saved. Model, "
        "tokenizer and search are the folder's; what cannot be expressed is "
        "refused, and nothing is written. The version is verified in the C++ "
        "loader before it appears.",
    )
    _add_huggingface(command)
    command = add(
        "verify",
        _verify,
        "Compare a model's answers with the recorded ones. They are asked in "
        "the C++ session that TF Serving uses, with XLA off, in a process "
        "without Python TensorFlow. Ends with status 1 on any difference.",
    )
    command.add_argument("path", metavar="PATH", help=_PATH)
    command.add_argument(
        "--timeout", type=float, default=600.0, help="seconds to wait (600)"
    )
    command = add(
        "inspect",
        inspect,
        "List a model's signatures, ops and files. Ops that need XLA or "
        "libraries beyond TensorFlow are marked.",
    )
    command.add_argument("path", metavar="PATH", help=_PATH)
    command = add(
        "serve",
        _serve,
        "Try a model out over TF Serving's REST and gRPC. Production is TF "
        "Serving itself: this has neither batching nor metrics nor security.",
    )
    command.add_argument(
        "folder", metavar="FOLDER", help="the folder of the model's versions"
    )
    command.add_argument(
        "--model_name", help="what clients call it (the folder's name)"
    )
    command.add_argument(
        "--host", default="127.0.0.1", help="address (127.0.0.1)"
    )
    for name, port in (("rest", 8501), ("grpc", 8500)):
        command.add_argument(
            f"--{name}_port",
            type=int,
            default=port,
            help=f"port, 0 for a free one ({port})",
        )
    command.add_argument(
        "--allow_xla",
        dest="disable_xla",
        action="store_false",
        help="keep XLA on, which TF Serving switches off",
    )
    return parser


def _add_huggingface(command):
    command.add_argument(
        "folder", metavar="FOLDER", help="what `save_pretrained` wrote"
    )
    command.add_argument(
        "destination",
        metavar="DESTINATION",
        help="where the versions of the model are; its name is the model's",
    )
    command.add_argument(
        "--version", type=int, help="a number that is not there yet (the next)"
    )
    command.add_argument(
        "--dtype",
        choices=("float32", "bfloat16", "float16"),
        default="float32",
        help="of the weights and of what is computed (float32)",
    )
    command.add_argument(
        "--search",
        choices=("greedy", "sample", "beam"),
        help="in place of the folder's, as all that follow",
    )
    for name, (kind, words) in _SETTINGS.items():
        command.add_argument(f"--{name}", type=kind, help=words)
    command.add_argument(
        "--xla",
        action="store_true",
        help="write signatures that XLA compiles too, named *_xla",
    )
