"""Tasks saved and asked as a server does it."""

from keras_attn.export import Servable
from keras_attn.export import exporting
from tests import cpp_loader
from tests.export import op_registry


def save(task, folder, *verbs):
    """Write a SavedModel with some signatures of a task."""
    signatures = {each.name: each for each in task.signatures()}
    made = Servable(task, [signatures[verb] for verb in verbs])
    exporting.save(made, folder)
    return folder


def ask(folder, requests):
    """Answers of the C++ loader to (signature, inputs), from one process."""
    return cpp_loader.run_requests(folder, requests)


def other_ops(folder):
    """What a server may not have, or may have switched off."""
    registry = op_registry.of_the_oldest()
    ops = cpp_loader.op_names(folder)
    return {
        *op_registry.troubles(folder, registry),
        *(op for op in ops if "Xla" in op or "PyFunc" in op),
    }
