"""From a model and its inputs to tokens."""

import gc
import weakref

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.base.state import State
from keras_attn.decoding import beam
from keras_attn.decoding import generate
from keras_attn.decoding import greedy
from keras_attn.decoding import sample

VOCABULARY, LENGTH, END = 7, 5, 0


class Translator(keras.Model):
    """Predicts from the source's mean and the last token."""

    def __init__(self):
        super().__init__()
        self.embedding = keras.layers.Embedding(VOCABULARY, 4)
        self.head = keras.layers.Dense(VOCABULARY, kernel_initializer="normal")
        self.embedding.build((None,))
        self.head.build((None, 4))
        self.traces = []

    def encode(self, inputs, max_length):
        self.traces.append(max_length)
        return State((), tf.reduce_mean(self.embedding(inputs), axis=1))

    def step(self, token, state, index):
        features = self.embedding(token) + state.constant
        return 50 * self.head(features), state


class Writer(Translator):
    """Continues ragged prompts."""

    def prompt(self, inputs):
        last = tf.gather(inputs, inputs.row_lengths() - 1, batch_dims=1)
        return inputs.to_tensor(), last


def ids(rng, rows, length):
    return rng.integers(1, VOCABULARY, size=(rows, length)).astype("int32")


OPTIONS = {
    "greedy": {},
    "sample": {"seed": 3, "top_p": 0.9},
    "beam": {"width": 3, "num_results": 2, "length_penalty": 0.6},
}


@pytest.mark.parametrize(
    ("name", "search"),
    [("greedy", greedy), ("sample", sample), ("beam", beam)],
    ids=OPTIONS,
)
def test_is_encode_and_a_search(rng, name, search):
    model = Translator()
    source = ids(rng, 3, 4)
    settings = dict(max_length=LENGTH, start_id=1, end_id=END, **OPTIONS[name])
    answer = generate(model, source, search=name, **settings)
    state = model.encode(source, LENGTH)
    expected = search(model.step, state, batch_size=3, **settings)
    tf.nest.map_structure(
        lambda one, other: np.testing.assert_allclose(one, other, 1e-5),
        answer,
        expected,
    )
    assert model.traces == [LENGTH] * 2


def test_one_trace_serves_all_batch_sizes_lengths_seeds_and_rows(rng):
    model = Translator()
    for rows, length in ((3, 4), (1, 4), (2, 6)):
        tokens = generate(
            model,
            ids(rng, rows, length),
            search="sample",
            max_length=LENGTH,
            start_id=np.ones(rows, "int32"),
            end_id=END,
            seed=rows,
            temperature=[0.5] * rows,
        )
        assert tokens.shape == (rows, LENGTH)
    assert len(model.traces) == 1
    generate(model, ids(rng, 2, 3), max_length=3, start_id=1, end_id=END)
    assert model.traces == [LENGTH, 3]


def test_new_weights_are_used_at_once(rng):
    model = Translator()
    source = ids(rng, 20, 4)
    settings = dict(max_length=LENGTH, start_id=1, end_id=END)
    before = generate(model, source, **settings).numpy()
    model.head.kernel.assign(-model.head.kernel)
    assert not np.array_equal(generate(model, source, **settings), before)
    assert len(model.traces) == 1


def enable_lora(model):
    model.head.enable_lora(2)
    kernel = model.head.lora_kernel_b
    kernel.assign(tf.reverse(tf.eye(*kernel.shape), [1]) * 9)


def quantize(model):
    model.head.quantize("int8")
    model.head._kernel.assign(-model.head._kernel)


def freeze(model):
    model.head.trainable = False


def replace_a_layer(model):
    model.head = keras.layers.Dense(VOCABULARY, kernel_initializer="normal")
    model.head.build((None, 4))


def replace_in_a_list(model):
    model.activations[0] = keras.layers.ReLU(negative_slope=9.0)


def change_a_policy(model):
    model.head.dtype_policy = keras.DTypePolicy("mixed_float16")


class Changing(Translator):
    """Also has a layer in a list, and one that shows if it is frozen."""

    def __init__(self):
        super().__init__()
        self.activations = [keras.layers.ReLU(negative_slope=0.5)]

    def step(self, token, state, index):
        features = self.embedding(token) + state.constant
        logits = self.head(self.activations[0](features))
        sign = 1 if self.head.trainable else -1
        return sign * 50 * tf.cast(logits, tf.float32), state


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (enable_lora, True),
        (quantize, True),
        (freeze, True),
        (replace_a_layer, True),
        (replace_in_a_list, True),
        (change_a_policy, False),
    ],
)
def test_a_model_that_was_changed_is_traced_anew(rng, change, seen):
    model = Changing()
    source = ids(rng, 20, 4)
    settings = dict(max_length=LENGTH, start_id=1, end_id=-1)
    before = generate(model, source, **settings).numpy()
    change(model)
    for _ in range(2):
        after = generate(model, source, **settings)
    assert model.traces == [LENGTH] * 2
    assert np.any(after != before) or not seen
    state = model.encode(source, LENGTH)
    expected = greedy(model.step, state, batch_size=20, **settings)
    np.testing.assert_array_equal(after, expected)


def test_graphs_of_what_a_model_was_are_not_kept(rng):
    graphs = []

    class Noting(Translator):
        def encode(self, inputs, max_length):
            graphs.append(weakref.ref(tf.compat.v1.get_default_graph()))
            return super().encode(inputs, max_length)

    model = Noting()
    for max_length in (2, 3):
        settings = dict(max_length=max_length, start_id=1, end_id=END)
        generate(model, ids(rng, 1, 2), **settings)
    replace_a_layer(model)
    generate(model, ids(rng, 1, 2), **settings)
    keras.utils.clear_session(free_memory=False)
    gc.collect()
    assert [graph() is None for graph in graphs] == [True, True, False]


def test_its_functions_go_with_the_model(rng):
    model = Translator()
    generate(model, ids(rng, 1, 2), max_length=2, start_id=1, end_id=END)
    reference = weakref.ref(model)
    del model
    keras.utils.clear_session(free_memory=False)
    gc.collect()
    assert reference() is None


def test_a_prompt_is_continued_from_its_last_token(rng):
    model = Writer()
    prompts = tf.ragged.constant([[1, 2, 3], [4], [5, 6]], dtype=tf.int32)
    together = generate(model, prompts, max_length=LENGTH, end_id=END)
    state = model.encode(prompts.to_tensor(), LENGTH)
    expected = greedy(
        model.step,
        state,
        batch_size=3,
        max_length=LENGTH,
        start_id=[3, 4, 6],
        end_id=END,
    )
    np.testing.assert_array_equal(together, expected)
    generate(model, prompts[:1], max_length=LENGTH, end_id=END)
    assert len(model.traces) == 2


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_inside_a_function_it_is_part_of_it(rng, jit_compile):
    model = Translator()
    source = ids(rng, 3, 4)
    settings = dict(max_length=LENGTH, start_id=1, end_id=END)
    expected = generate(model, source, **settings)
    run = tf.function(
        lambda source: generate(model, source, **settings),
        jit_compile=jit_compile,
    )
    np.testing.assert_array_equal(run(source), expected)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_text_that_is_cut_off_has_its_forced_end(rng, name):
    model = Translator()
    settings = dict(max_length=LENGTH, start_id=1, search=name, **OPTIONS[name])
    source = ids(rng, 9, 4)

    def texts(end_id, **more):
        tokens = generate(model, source, end_id=end_id, **settings, **more)
        tokens = tokens[0] if name == "beam" else tokens
        return tokens.numpy().reshape(-1, LENGTH)

    plain, forced = texts(-1), texts(-1, forced_end_id=6)
    assert np.any(plain[:, -1] != 6)
    assert np.all(forced[:, -1] == 6)
    if name != "beam":  # where another beam may win
        np.testing.assert_array_equal(forced[:, :-1], plain[:, :-1])
    # A row that has ended before stays as it is.
    model.forced_end_id = 6
    by_default = texts(int(plain[0, 1]))
    ended = np.any(by_default[:, :-1] == plain[0, 1], axis=1)
    assert np.any(ended)
    assert np.all(by_default[ended, -1] == plain[0, 1])
    assert np.all(by_default[~ended, -1] == 6)


def test_images_keep_their_size():
    class Captioner(Translator):
        def encode(self, inputs, max_length):
            self.traces.append(inputs["image"].shape)
            return State((), inputs["image"][:, :4, 0, 0])

    model = Captioner()
    for rows in (2, 3):
        generate(
            model,
            {"image": tf.ones([rows, 8, 8, 3])},
            max_length=2,
            start_id=1,
            end_id=END,
            forbidden_ids=[2],
        )
    assert model.traces == [(None, 8, 8, 3)]


def test_mistakes_get_a_sentence(rng):
    settings = dict(max_length=2, end_id=END)
    source = ids(rng, 1, 2)
    with pytest.raises(ValueError, match="Translator needs a `start_id`"):
        generate(Translator(), source, **settings)
    with pytest.raises(ValueError, match="starts from the last token"):
        generate(Writer(), source, start_id=1, **settings)
    with pytest.raises(ValueError, match="`search` must be one of"):
        generate(Writer(), source, search="best", **settings)
    with pytest.raises(ValueError, match="Dense has no `encode`"):
        generate(keras.layers.Dense(2), source, start_id=1, **settings)
    with pytest.raises(ValueError, match="`inputs` must be tensors"):
        generate(Writer(), [[1, 2]], **settings)
    with pytest.raises(ValueError, match="`temperature` must be"):
        generate(
            Translator(),
            source,
            search="sample",
            start_id=1,
            temperature=[-1.0],
            **settings,
        )


class Counting(Writer):
    """Continues prompts of which it tells the lengths."""

    def encode(self, inputs, max_length):
        return super().encode(inputs["tokens"], max_length)

    def prompt(self, inputs):
        tokens, last = super().prompt(inputs)
        lengths = tf.cast(inputs.row_lengths(), tf.int32) - 1
        return {"tokens": tokens, "lengths": lengths}, last


@pytest.mark.parametrize("search", ["greedy", "sample", "beam"])
def test_prompts_count_where_they_are_known(search):
    model = Counting()
    prompts = tf.ragged.constant([[1, 2, 3], [4], [6, 5]], dtype=tf.int32)
    settings = {"no_repeat_ngram_size": 1, "forbidden_ids": [], "min_length": 1}
    tokens = generate(
        model, prompts, search=search, max_length=3, end_id=[END, 0], **settings
    )
    tokens = (tokens[0][:, 0] if search == "beam" else tokens).numpy()
    for row, prompt in zip(tokens.tolist(), prompts.to_list(), strict=True):
        written = row[: [*row, END].index(END)]
        assert written and not {*written} & {*prompt}
    # What the caller gives comes first.
    given = generate(
        model,
        prompts,
        search=search,
        max_length=1,
        end_id=END,
        prompt=[[1, 2, 3, 4, 5]] * 3,
        **settings,
    )
    given = given[0][:, 0] if search == "beam" else given
    assert given.numpy()[:2].tolist() == [[6], [6]]
