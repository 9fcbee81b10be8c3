"""The rules of the house, each tried on a house that breaks it."""

import ast
import inspect
import pathlib
import re
import sys
import types

import pytest

import keras_attn
from keras_attn.modifiers import Modifier

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = ROOT / "keras_attn"

MAY_IMPORT = {
    "base": set(),
    "ops": set(),
    "text": set(),
    "image": set(),
    "embeddings": {"ops"},
    "modifiers": {"ops"},
    "wrappers": {"ops"},
    "attention": {"ops", "modifiers", "wrappers"},
    "blocks": {"ops", "embeddings", "modifiers", "wrappers", "attention"},
    "models": {
        *("ops", "embeddings", "modifiers", "wrappers", "attention"),
        # For a `fit` on many devices.
        *("blocks", "training"),
    },
    "decoding": {"ops"},
    "data": {"ops", "text", "image"},
    "training": {"ops", "decoding"},
    "export": {"ops", "text", "image", "models", "decoding", "training"},
    "plot": {"ops"},
    # The door.
    "layers": {"embeddings", "wrappers", "attention", "blocks"},
}
# The same for the sub-rooms of a room; "" is what stands in the room itself.
MAY_IMPORT_WITHIN = {
    "ops": {
        "": {"fused", "tiling"},
        "adversarial": set(),
        "explain": {""},
        "fused": {""},
        "tiling": {""},
    },
    "attention": {"": {"heads"}, "heads": set()},
    "blocks": {"": {"normalization"}, "normalization": set()},
    "text": {
        "": {"segmentation", "sentence_piece", "huggingface"},
        "segmentation": {""},
        "sentence_piece": {"", "segmentation"},
        "huggingface": {"", "segmentation", "sentence_piece"},
        "places": {"", "segmentation", "sentence_piece"},
    },
    "decoding": {
        "": {"beams", "logits"},
        "beams": {"", "logits"},
        "logits": {""},
    },
    "data": {
        "": {"builtin", "sources"},
        "sources": set(),
        "builtin": {"sources"},
        "pipeline": set(),
        "tasks": {"pipeline"},
        "augment": {"pipeline"},
    },
    "models": {
        "": {"huggingface"},
        "huggingface": set(),
        "bert": {""},
        "gpt": {""},
        "rnn_captioner": {""},
        "rnn_language_model": {""},
        "rnn_seq2seq": {""},
        "sagan": {""},
        "sequence_regressor": {""},
        "transformer": {""},
        "transformer_captioner": {"", "gpt", "vit"},
        "vilbert": {""},
        "vit": {""},
    },
    "training": {
        "": {"accelerator"},  # for its command
        "losses": {""},
        "metrics": {"", "losses"},
        "schedules": set(),
        "optimizers": set(),
        "recipes": {"losses", "metrics", "optimizers", "schedules"},
        "distribution": set(),
        "distillation": {"losses", "distribution"},
        "callbacks": set(),
        "resuming": set(),
        "accelerator": set(),
    },
    "export": {
        "": {"tasks", "graph", "settings", "bundle", "verify", "server"},
        "graph": set(),
        "settings": set(),
        "tasks": {"graph", "settings"},
        "loader": set(),
        "bundle": {"graph", "loader"},
        "verify": {"bundle", "loader"},
        "server": {"bundle", "loader"},
    },
}
MAY_IMPORT_TENSORFLOW = {
    "base",
    "image",
    "ops",
    "modifiers",
    "decoding",
    "text",
    "data",
    "training",
    "export",
}
NEEDED = {"keras", "tensorflow", "numpy", "keras_attn"}
NOT_NAMES = {"utils.py", "helpers.py", "common.py"}
MAX_LINES = 300
# Longer files that hold one idea, and which.
LONG_FILES = {}
MAX_FILES = 18

MODULES = sorted(
    path.relative_to(PACKAGE)
    for path in PACKAGE.rglob("*.py")
    if path.name != "__init__.py"
)
SCRIPTS = sorted(
    path.relative_to(ROOT)
    for folder in ("keras_attn", "examples", "benchmarks", "tests")
    for path in (ROOT / folder).rglob("*.py")
)
COMMANDS = ["README.md", "CONTRIBUTING.md", ".ci/run"]

DOCUMENTED = (
    "layers",
    "modifiers",
    "ops",
    "plot",
    "text",
    "training",
    "decoding",
    "models",
    "data",
    "export",
)

# Public functions that compute nothing, and what they do.
READ = "it reads what it is given"
HOST = "it is asked with whatever the model takes"
NOT_COMPUTING = {
    "models.from_huggingface": "it reads a folder",
    "decoding.search_settings": "it reads what a folder says",
    **{
        f"data.{name}": READ
        for name in (
            *("arrays", "captions", "class_names", "from_tfds", "idx"),
            *("image_folder", "load", "parallel_lines", "tab_separated"),
            *("text_documents", "text_lines", "tfds_image_folder"),
            "tfds_translate_folder",
        )
    },
    "data.bucket_specs": "it lists shapes",
    "data.digit_scenes": "it draws real digits",
    "data.digits": "it reads real digits",
    "data.emoji_phrases": "it reads names of emoji",
    "data.scene_answers": "it lists names",
    "data.scene_questions": "it draws real digits",
    "export.LoadedModel": HOST,
    "export.LoopbackServer": HOST,
    "export.Servable": HOST,
    "export.Signature": "it says what a model takes",
    "export.Task": "each of its subclasses has its own",
    "export.export_huggingface": "it reads a folder",
    "export.inspect": "it lists what there is",
    "export.register_task": "it names a class",
    "export.serve": HOST,
}
OUR_OWN = "no paper has it"
ITS_MODEL = "its model has its own"
SHOWING = ("CompileNotice", "Pictures", "Samples")
RUNS = {
    f"training.{name}": "it trains and computes nothing of its own"
    for name in ("fit", "restore")
}

# What a docstring need not have, and why.
NO_EQUATION = {
    **NOT_COMPUTING,
    **RUNS,
    "data.phrases": "its grammar is in tables",
    **{f"training.{name}": "it shows what others made" for name in SHOWING},
    "modifiers.get": "it finds a modifier by name",
    **{
        f"plot.{name}": "it draws weights that another function made"
        for name in ("alignment", "heads", "over_image", "pixels", "rollout")
    },
    "plot.grid": "it draws images that another function made",
    "training.accelerator_check": "it asks a compiler",
    "training.accelerator_check_model": "it asks a compiler",
}
NO_REFERENCE = {
    **NOT_COMPUTING,
    **RUNS,
    **{
        f"data.{name}": OUR_OWN
        for name in (
            *("augment", "auto_lengths", "batches", "captioning"),
            *("count_too_long", "decode_image", "image_classification"),
            *("language_model", "phrases", "sequence_regression"),
            "Preprocessing",
        )
    },
    **{
        f"export.{name}": ITS_MODEL
        for name in (
            *("FunctionalPrediction", "ImageClassification", "MaskFilling"),
            *("ImageGeneration", "SequencePrediction"),
            *("Captioning", "QuestionAnswering"),
            *("TextClassification", "TextEmbedding", "TextGeneration"),
            *("TextRegression", "TokenClassification", "Translation"),
            "VisionLanguage",
            *("export_model", "servable"),
        )
    },
    "export.verify": OUR_OWN,
    **{f"training.{name}": "it shows what others made" for name in SHOWING},
    "modifiers.Modifier": "each of its subclasses has its own",
    "modifiers.get": "it finds a modifier by name",
    "text.Tokenizer": "each of its subclasses has its own",
    "text.learn_vocabulary": "each kind's tokenizer has its own",
    "training.accelerator_check": "it asks a compiler",
    "training.accelerator_check_model": "it asks a compiler",
    "training.distributed": OUR_OWN,
    "training.strategy": "it finds a strategy by name",
}
NO_SHAPES = {
    **NOT_COMPUTING,
    **RUNS,
    "data.auto_lengths": "it takes examples of any shapes",
    "data.count_too_long": "it takes examples of any shapes",
    "data.mixup_or_cutmix": "they are those of mixup",
    "export.TextGeneration": "it takes texts",
    "export.Translation": "it takes texts",
    "export.export_model": HOST,
    "export.servable": HOST,
    "export.verify": HOST,
    **{
        f"training.{name}": "it takes no tensor"
        for name in (*SHOWING, "BLEU", "Throughput")
    },
    "modifiers.get": "it takes no tensor",
    "text.learn_vocabulary": "it takes texts",
    "training.accelerator_check": "it takes any tensors",
    "training.accelerator_check_model": "it takes any tensors",
    "training.AdamW": "it takes weights of any shapes",
    "training.Lamb": "it takes weights of any shapes",
    "training.PearsonCorrelation": "it takes one number of each row",
    "training.SpearmanCorrelation": "it takes one number of each row",
    "training.WarmupCosine": "it takes no tensor but the step",
    "training.WarmupLinear": "it takes no tensor but the step",
    "training.distributed": "it takes a model",
    "training.layer_rates": "it takes layers",
    "training.strategy": "it takes a name",
}


def imports(tree):
    """Yield (name, whether it happens when the module is imported)."""
    nodes = [(tree, True)]
    for node, at_once in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, at_once) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            yield from ((f"{start}.{a.name}", at_once) for a in node.names)
        elif not isinstance(node, ast.expr):  # no expression holds an import
            at_once = at_once and not isinstance(node, ast.FunctionDef)
            nodes += [(x, at_once) for x in ast.iter_child_nodes(node)]


def wrong_imports(room, source):
    """Say which imports of a module in `room` go against the house.

    Args:
        room: Such as "ops", or "export.graph" for a sub-room.
        source: The module's text.
    """
    # What lies deeper is bound as the sub-room that it lies in.
    room, inner, *_ = [*room.split("."), ""]
    for name, at_once in imports(ast.parse(source)):
        top, *rest = name.split(".")
        if not top:
            yield f"{name}: write imports in full"
        elif top in {"examples", "benchmarks", "tests"}:
            yield f"{name}: the library needs nothing outside itself"
        elif top == "keras_attn":
            allowed = {room, "base", "extras"} | MAY_IMPORT[room]
            if rest[0] not in allowed:
                yield f"{name}: {room} may import only {sorted(allowed)}"
            elif rest[0] == room and room in MAY_IMPORT_WITHIN:
                within = MAY_IMPORT_WITHIN[room]
                # What is no sub-room is a module of the room itself.
                target = rest[1] if rest[1] in within else ""
                allowed = {inner} | within[inner]
                if target not in allowed:
                    yield f"{name}: {inner!r} may import only {sorted(allowed)}"
        elif top == "tensorflow":
            if room not in MAY_IMPORT_TENSORFLOW:
                yield f"{name}: {room} uses keras.ops"
        elif top not in sys.stdlib_module_names | NEEDED and at_once:
            yield f"{name}: import an extra inside the function that needs it"


def private_imports(source):
    """Say which imports reach into Keras' private parts."""
    for name, _ in imports(ast.parse(source)):
        if re.match(r"keras\.(src|_)|tensorflow\.python\b", name):
            yield f"{name} is private: it may change without notice"


def module_faults(source):
    """Say what is wrong with the form of a module."""
    tree = ast.parse(source)
    docstring = ast.get_docstring(tree)
    if not docstring or "\n" in docstring:
        yield "open with one line that says what the module is"
    classes = [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    if len(classes) > 1:
        yield f"one class for each file, not {classes}"


def is_long(source):
    """Whether to look for a second idea in a module."""
    return len(source.splitlines()) > MAX_LINES


def missing_parts(name, docstring):
    """Say what the docstring of the public `name` lacks."""
    docstring = inspect.cleandoc(docstring or "")
    sections = r"^(?:Args|Call arguments|Returns|Reference):"
    definition = re.split(sections, docstring, flags=re.MULTILINE)[0]
    if name not in NO_EQUATION and not re.search(
        r"^    .*\S = ", definition, re.MULTILINE
    ):
        yield "an equation, indented"
    first = "batch|heads|query|target|words|patches"
    shapes = rf"\(({first})( or 1)?(, [a-z_]{{3,}})+\)"
    if name.startswith(("data.", "export.")):
        # Examples are unbatched, and labels have no axis but the batch.
        shapes += r"|\((batch|tokens|length|height|time)(, [\w.]{3,})*,?\)"
    if name not in NO_SHAPES and not re.search(shapes, docstring):
        yield "shapes, such as (batch, query, features)"
    if name not in NO_REFERENCE and not re.search(
        r"^Reference:\n    .*\b(19|20)\d\d\b[\s\S]*https://",
        docstring,
        re.MULTILINE,
    ):
        yield "a Reference with its year and link"


def missing_targets(text, makefile):
    """Say which `make` commands in a text the Makefile does not have."""
    commands = re.findall(r"(?:^\s*|`)make ([a-z-]+)", text, re.MULTILINE)
    targets = re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)
    return set(commands) - set(targets)


def public_names():
    """Yield every public name and what it stands for."""
    for room in DOCUMENTED:
        for name, thing in vars(getattr(keras_attn, room)).items():
            hidden = name.startswith("_") or isinstance(thing, types.ModuleType)
            if not hidden:
                yield f"{room}.{name}", thing


PUBLIC = dict(public_names())


def room_of(module):
    """Such as "ops", or "export.graph" for a module of a sub-room."""
    folders = module.parts[:-1] or (module.stem,)
    return ".".join(folders)


def faults(check, things):
    """What `check` says, by the thing it is wrong with.

    One test for each rule: one for each rule and file were 1,700.
    """
    found = {str(thing): list(check(thing)) for thing in things}
    assert found, "nothing was looked at"
    return {thing: wrong for thing, wrong in found.items() if wrong}


def test_imports_go_one_way():
    def check(module):
        return wrong_imports(room_of(module), (PACKAGE / module).read_text())

    assert not faults(check, MODULES)


def test_every_module_has_its_own_tests():
    def check(module):
        test = ROOT / "tests" / module.with_name(f"test_{module.name}")
        if not test.is_file() or "def test_" not in test.read_text():
            yield f"write {test.relative_to(ROOT)}"

    assert not faults(check, MODULES)


def test_modules_say_what_they_are():
    def check(module):
        return module_faults((PACKAGE / module).read_text())

    assert not faults(check, MODULES)


def test_a_long_module_says_which_one_idea_it_holds():
    long = {str(m) for m in MODULES if is_long((PACKAGE / m).read_text())}
    assert long == LONG_FILES.keys(), "look for the second idea"


def test_a_room_holds_what_one_can_overlook():
    def check(room):
        count = len(list((PACKAGE / room).glob("*.py")))
        if count > MAX_FILES:
            yield f"{count} files: make a sub-room"

    assert not faults(check, {module.parent for module in MODULES})


def test_every_sub_room_is_in_the_table():
    sub_rooms = {m.parts[:2] for m in MODULES if len(m.parts) > 2}
    assert sub_rooms == {
        (room, inner)
        for room, within in MAY_IMPORT_WITHIN.items()
        for inner in within
        if inner
    }


def documentation(thing):
    """A docstring; a modifier is used through its hooks, so with theirs."""
    parts = [thing]
    if inspect.isclass(thing) and issubclass(thing, Modifier):
        parts += [
            hook
            for hook in vars(thing).values()
            if inspect.isfunction(hook) and hasattr(Modifier, hook.__name__)
        ]
    return "\n\n".join(inspect.getdoc(part) or "" for part in parts)


def test_public_names_are_defined_where_they_are_read():
    def check(name):
        return missing_parts(name, documentation(PUBLIC[name]))

    assert not faults(check, PUBLIC)


def test_scripts_use_public_keras_and_telling_names():
    def check(script):
        if script.name in NOT_NAMES:
            yield "name the file for its idea"
        yield from private_imports((ROOT / script).read_text())

    assert not faults(check, SCRIPTS)


@pytest.mark.parametrize("text", COMMANDS)
def test_the_commands_people_are_told_exist(text):
    makefile = (ROOT / "Makefile").read_text()
    assert not missing_targets((ROOT / text).read_text(), makefile)


def test_exceptions_are_still_needed():
    for exceptions in (NO_EQUATION, NO_REFERENCE, NO_SHAPES):
        assert exceptions.keys() <= PUBLIC.keys()


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("ops", "from keras_attn.attention import dot"),
        ("ops", "import keras_attn.layers"),
        ("ops", "from keras_attn import layers"),
        ("attention", "def f():\n    from keras_attn.blocks import block"),
        ("attention", "import tensorflow as tf"),
        ("attention", "from tensorflow import nn"),
        ("attention", "from . import dot"),
        ("attention", "from keras_attn import plot"),
        ("plot", "import matplotlib"),
        ("ops", "from tests import oracle"),
        ("training", "from keras_attn.models import gpt"),
        ("training", "from keras_attn.data import text"),
        ("models", "from keras_attn.models.gpt.model import GPT"),
        ("models.gpt", "from keras_attn.models.bert.model import BERT"),
        ("models.gpt", "from keras_attn.models.bert import model"),
        ("export.graph", "from keras_attn.export.tasks import task"),
        ("export.graph", "from keras_attn.export import exporting"),
        ("export.tasks", "from keras_attn.data import batches"),
    ],
)
def test_a_wrong_import_is_caught(room, line):
    assert len(list(wrong_imports(room, line))) == 1


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("attention", "from keras_attn.ops import masks"),
        ("attention", "from keras_attn.attention import dot"),
        ("ops", "import tensorflow as tf"),
        ("ops", "import math"),
        ("models.gpt", "from keras_attn.models.stack import Stack"),
        ("models.gpt", "from keras_attn.models.gpt import from_gpt2"),
        ("export.tasks", "from keras_attn.export.graph import labels"),
        ("export.tasks", "from keras_attn.models.gpt.model import GPT"),
        ("plot", "def f():\n    import matplotlib"),
    ],
)
def test_a_right_import_passes(room, line):
    assert not list(wrong_imports(room, line))


@pytest.mark.parametrize(
    "line",
    [
        "import keras.src",
        "from keras.src import backend",
        "from keras import src",
        "def f():\n    from keras.src.layers import layer",
        "from tensorflow.python.ops import nn",
    ],
)
def test_a_private_import_is_caught(line):
    assert list(private_imports(line))
    assert not list(private_imports("from keras import ops"))


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("import math", "open with one line"),
        ('"""Two\nlines."""', "open with one line"),
        ('"""Say."""\nclass A: pass\nclass B: pass', "one class"),
    ],
)
def test_a_module_out_of_form_is_caught(source, complaint):
    (fault,) = module_faults(source)
    assert complaint in fault
    assert not list(module_faults('"""Say."""\nclass A: pass'))


def test_a_long_module_is_noticed():
    assert is_long("x = 1\n" * 301)
    assert not is_long("x = 1\n" * 300)


DOCSTRING = """Attention of a kind.

        output = softmax(scores) value

    Args:
        query: (batch, query, features).

    Reference:
        Someone et al. 2015, section 3. https://example.org
    """


@pytest.mark.parametrize(
    ("cut", "complaint"),
    [
        (" = softmax", "equation"),
        ("(batch, query, features)", "shapes"),
        ("Reference:", "Reference"),
        (" 2015", "Reference"),
        ("https://", "Reference"),
    ],
)
def test_a_docstring_that_lacks_a_part_is_caught(cut, complaint):
    assert not list(missing_parts("ops.some", DOCSTRING))
    (missing,) = missing_parts("ops.some", DOCSTRING.replace(cut, ""))
    assert complaint in missing


def test_a_command_that_does_not_exist_is_caught():
    assert missing_targets("    make tea", "test:\n\techo") == {"tea"}
    assert missing_targets("Run `make tea` first.", "test:\n\techo") == {"tea"}
    assert not missing_targets("    make test\n`make test`", "test:\n\techo")
