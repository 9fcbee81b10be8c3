"""From a model and its inputs to tokens, in one call."""

import weakref
from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from keras import tree

from keras_attn.base import argument_checks
from keras_attn.decoding import options
from keras_attn.decoding.beam_search import beam
from keras_attn.decoding.fingerprint import Fingerprint
from keras_attn.decoding.greedy_search import greedy
from keras_attn.decoding.logits.processors import looks_back
from keras_attn.decoding.protocol import GenerativeModel
from keras_attn.decoding.protocol import check_generative
from keras_attn.decoding.protocol import continues_prompts
from keras_attn.decoding.protocol import earlier_tokens
from keras_attn.decoding.protocol import forced_end_id
from keras_attn.decoding.sampling import sample

SEARCHES = {"greedy": greedy, "sample": sample, "beam": beam}

# Settings that are the shape of a graph, and may be lists.
_IDS = ("end_id", "forbidden_ids", "begin_forbidden_ids")

# Settings by which a search reads what came before.
_BACKWARD = ("repetition_penalty", "no_repeat_ngram_size")

# Tracing a model takes seconds, so its functions are kept as long as it is as
# it was: beside the model, since Keras and TensorFlow would save what they find
# on it.
_FUNCTIONS = weakref.WeakKeyDictionary()


def generate(
    model: GenerativeModel,
    inputs,
    *,
    search: str = "greedy",
    max_length: int,
    start_id=None,
    end_id: int | Sequence[int],
    **settings,
):
    """Let a model write, from what it is given to tokens.

        tokens = search(model.step, model.encode(inputs, max_length))

    A model that continues a prompt has a method `prompt(inputs)`, which gives
    what `encode` takes and the last token of each row, to start from. Outside
    a `tf.function` the graph is made once for each setting that is a number;
    tensors, seeds, batch sizes and lengths of ids may change. It is made again
    for a model that got LoRA, was quantised, frozen, or given other layers.
    Inside a function it is part of that, which `jit_compile=True` may compile.

    Args:
        model: Has `encode` and `step`; see `GenerativeModel`.
        inputs: What `encode`, or `prompt`, takes: (batch, length) ids, ragged
            ids, images, or a dictionary of these.
        search: "greedy", "sample" or "beam".
        max_length: Most tokens to write, without the prompt.
        start_id: First token that is fed, a number or (batch,); not for a
            model with prompts.
        end_id: Ends a row and fills the rest of it; or several, of which the
            first fills.
        **settings: Passed to the search, such as `top_p` or `width`. A model
            may have a `forced_end_id`, which is the default. What penalties
            count of a prompt is the model's, if there is no `prompt`.

    Returns:
        What the search returns: (batch, max_length) tokens, or those of `beam`.

    Reference:
        Sutskever et al. 2014, section 3. https://arxiv.org/abs/1409.3215
    """
    _check(model, search, start_id)
    settings |= {"max_length": max_length, "end_id": end_id}
    settings.setdefault("forced_end_id", forced_end_id(model))
    if start_id is not None:
        settings["start_id"] = start_id
    if not tf.executing_eagerly():
        return _search(model, inputs, SEARCHES[search], settings)
    inputs = tree.map_structure(_as_tensor, inputs)
    numbers, tensors = _sorted_out(settings)
    specs = tree.map_structure(_any_batch, (inputs, tensors))
    functions = _functions_of(model)
    key = (search, tuple(sorted(numbers.items())), repr(specs))
    if key not in functions:
        # The function must not keep the model that keeps it.
        reference = weakref.ref(model)

        def run(inputs, tensors):
            settings = numbers | tensors
            return _search(reference(), inputs, SEARCHES[search], settings)

        # As Keras does for `fit`; AutoGraph would double the time to trace.
        function = tf.function(run, input_signature=specs, autograph=False)
        # Before the fingerprint is taken: the first trace may build layers.
        function.get_concrete_function()
        functions[key] = function
        _FUNCTIONS[model] = Fingerprint(model), functions
    return functions[key](inputs, tensors)


def _functions_of(model) -> dict:
    """The functions that were traced of the model as it is now."""
    fingerprint, functions = _FUNCTIONS.get(model, (None, {}))
    if fingerprint is None or not fingerprint.fits(model):
        return {}
    return functions


def _search(model, inputs, search, settings):
    if continues_prompts(model):
        inputs, start_id = model.prompt(inputs)
        settings = settings | {"start_id": start_id}
        reads = {name: settings[name] for name in _BACKWARD if name in settings}
        if looks_back(**reads) and settings.get("prompt") is None:
            settings["prompt"] = earlier_tokens(inputs)
    state = model.encode(inputs, settings["max_length"])
    leaf = tf.convert_to_tensor(tree.flatten(state)[0])
    known = leaf.shape[0]
    rows = tf.shape(leaf)[0] if known is None else known
    return search(model.step, state, batch_size=rows, **settings)


def _check(model, search, start_id):
    argument_checks.choice(search, "search", SEARCHES)
    check_generative(model)
    if continues_prompts(model) and start_id is not None:
        raise ValueError(
            f"{type(model).__name__} starts from the last token of each "
            f"prompt. Received: start_id={start_id}. Leave it out, or put it "
            "at the end of the prompts."
        )
    if not continues_prompts(model) and start_id is None:
        raise ValueError(
            f"{type(model).__name__} needs a `start_id`: the token that its "
            "targets begin with in training."
        )


def _sorted_out(settings):
    """Part what the graph is made for from what it is given."""
    numbers, tensors = {}, {}
    for name, value in settings.items():
        if name in options.RANGES:
            options.check(name, value)
        if name in _IDS:
            several = np.ndim(value) > 0
            numbers[name] = tuple(value) if several else value
        elif isinstance(value, (list, np.ndarray)) or tf.is_tensor(value):
            tensors[name] = tf.convert_to_tensor(value)
        elif name == "seed" and value is not None:
            tensors[name] = tf.constant(value, tf.int64)
        else:
            numbers[name] = value
    return numbers, tensors


def _as_tensor(leaf):
    if isinstance(leaf, (int, float, str, bytes)):
        raise ValueError(
            "`inputs` must be tensors, arrays or a dictionary of them. "
            f"Received: {leaf!r} in a list. Wrap lists of ids in "
            "`tf.ragged.constant` or `np.array`."
        )
    return leaf if tf.is_tensor(leaf) else tf.convert_to_tensor(leaf)


def _any_batch(tensor):
    """Describe a tensor without its batch size and, for ids, its length."""
    if isinstance(tensor, tf.RaggedTensor):
        return tf.RaggedTensorSpec(
            [None] * (tensor.ragged_rank + 1) + tensor.flat_values.shape[1:],
            tensor.dtype,
            tensor.ragged_rank,
            tensor.row_splits.dtype,
        )
    ids = not tensor.dtype.is_floating and tensor.shape.rank == 2
    lengths = [None] if ids else list(tensor.shape[1:])
    return tf.TensorSpec([None, *lengths][: tensor.shape.rank], tensor.dtype)
