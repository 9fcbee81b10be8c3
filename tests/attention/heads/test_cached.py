import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_attn.attention.heads.cached import CachedAttention
from keras_attn.attention.multi_head import MultiHeadAttention
from keras_attn.modifiers import QKNorm
from keras_attn.modifiers import RelativeBias
from keras_attn.modifiers import Rotary
from keras_attn.modifiers import Sinks
from keras_attn.modifiers import SoftCap
from tests import cpp_loader

ROWS, LENGTH, FEATURES, HEADS, DEPTH = 3, 7, 10, 4, 6

CASES = {
    "mha": {},
    "gqa": {"num_kv_heads": 2},
    "mqa": {"num_kv_heads": 1},
    "value_dim": {"value_dim": 5},
    "rotary": {"modifiers": [Rotary(base=20.0)]},
    "rotary_part": {"modifiers": [Rotary(fraction=1 / 3, offset=4)]},
    "alibi": {"modifiers": ["ALiBi"]},
    "relative_bias": {
        "modifiers": [RelativeBias(num_buckets=4, max_distance=6)]
    },
    "soft_cap": {"modifiers": [SoftCap(0.8)]},
    "qk_norm": {"modifiers": [QKNorm()]},
    "sinks": {"modifiers": [Sinks()]},
    "window": {"sliding_window": 3},
    "window_of_one": {"sliding_window": 1},
    "window_longer_than_all": {"sliding_window": 20},
    "gate": {"use_gate": True},
    "no_bias": {"use_bias": False},
    "everything": {
        "num_kv_heads": 2,
        "value_dim": 5,
        "sliding_window": 4,
        "use_gate": True,
        "modifiers": [
            QKNorm(),
            Rotary(fraction=2 / 3, offset=1),
            SoftCap(2.0),
            "ALiBi",
            RelativeBias(num_buckets=6, max_distance=5),
            Sinks(),
        ],
    },
}


@pytest.fixture
def sequence(rng):
    return rng.normal(size=(ROWS, LENGTH, FEATURES)).astype("float32")


def make(case, rng, value_features=FEATURES, **options):
    init = CASES[case]
    # From configs, because a modifier belongs to one layer.
    config = MultiHeadAttention(HEADS, DEPTH, **init, **options).get_config()
    layer = MultiHeadAttention.from_config(config)
    layer.build((None, None, FEATURES), (None, None, value_features))
    # Biases, sinks and tables that start at 0 would hide that they are read.
    layer.set_weights(
        [rng.normal(size=w.shape, scale=0.4) for w in layer.weights]
    )
    return layer


def go_on(layer, sequence, kept, start):
    """Step to the end of each row; return outputs by (row, position)."""
    outputs, positions = {}, np.array(start)
    while positions.min() < LENGTH:
        # A row that has ended is fed its last token over and over.
        now = np.minimum(positions, LENGTH - 1).astype("int32")
        token = sequence[np.arange(ROWS), now]
        output, kept = layer.step(tf.constant(token), kept, now)
        assert output.shape == (ROWS, FEATURES)
        for row, position in enumerate(now):
            outputs.setdefault((row, position), output[row].numpy())
        positions += 1
    return outputs


@pytest.mark.parametrize("case", CASES)
def test_step_after_step_equals_the_causal_call(case, sequence, rng):
    layer = make(case, rng)
    expected = layer(sequence, sequence, use_causal_mask=True)
    kept = layer.empty_cache(ROWS, LENGTH)
    outputs = go_on(layer, sequence, kept, [0] * ROWS)
    assert len(outputs) == ROWS * LENGTH
    for place, output in outputs.items():
        np.testing.assert_allclose(
            output, expected[place], atol=1e-5, err_msg=str(place)
        )


@pytest.mark.parametrize(
    ("case", "lengths"),
    [
        *[(case, [5, 1, 4]) for case in CASES],
        *[(case, [1, 1, 1]) for case in ("mha", "everything")],
        *[(case, [0, 3, 5]) for case in ("mha", "everything")],
    ],
)
def test_steps_go_on_from_prompts(case, lengths, sequence, rng):
    layer = make(case, rng)
    expected = layer(sequence, sequence, use_causal_mask=True)
    prompts = sequence[:, : max(lengths)].copy()
    for row, length in enumerate(lengths):
        prompts[row, length:] = 100.0  # not to be looked at
    output, kept = layer.prefill(tf.constant(prompts), lengths, LENGTH)
    for row, length in enumerate(lengths):
        np.testing.assert_allclose(
            output[row, :length], expected[row, :length], atol=1e-5
        )
    outputs = go_on(layer, sequence, kept, lengths)
    assert len(outputs) == ROWS * LENGTH - sum(lengths)
    for place, step in outputs.items():
        np.testing.assert_allclose(
            step, expected[place], atol=1e-5, err_msg=str(place)
        )


def test_a_prompt_of_no_tokens_is_an_empty_cache(sequence, rng):
    layer = make("gqa", rng)
    output, kept = layer.prefill(sequence[:, :0], [0] * ROWS, LENGTH)
    assert output.shape == (ROWS, 0, FEATURES)
    empty = layer.empty_cache(ROWS, LENGTH)
    for name in ("key", "value"):
        np.testing.assert_array_equal(kept.carried[name], empty.carried[name])


@pytest.mark.parametrize(
    ("case", "max_length", "slots"),
    [("mha", 9, 9), ("window", 9, 3), ("window", 2, 2)],
)
def test_a_window_needs_no_more_slots_than_it_sees(
    case, max_length, slots, sequence, rng
):
    layer = make(case, rng, value_dim=5, num_kv_heads=2)
    _, kept = layer.prefill(sequence[:, :2], [1, 2, 2], max_length)
    for cache in (kept, layer.empty_cache(ROWS, max_length)):
        assert cache.carried["key"].shape == (ROWS, 2, slots, DEPTH)
        assert cache.carried["value"].shape == (ROWS, 2, slots, 5)
    _, kept = layer.prefill(sequence[:, :5], [5, 1, 4], max_length)
    prompt = 5 if case == "mha" else 3
    assert kept.constant["key"].shape == (ROWS, 2, prompt, DEPTH)
    assert kept.constant["value"].shape == (ROWS, 2, prompt, 5)


def test_steps_leave_what_a_prompt_has_left_as_it_is(sequence, rng):
    layer = make("everything", rng)
    _, kept = layer.prefill(sequence[:, :5], [5, 1, 4], 2)
    _, after = layer.step(sequence[:, 5], kept, [5, 1, 4])
    assert after.constant is kept.constant


@pytest.mark.parametrize("case", ["mha", "window", "sinks"])
def test_the_weights_are_those_that_made_the_step(case, sequence, rng):
    layer = make(case, rng)
    _, full = layer(
        sequence, sequence, use_causal_mask=True, return_attention_scores=True
    )
    _, kept = layer.prefill(sequence[:, :5], [5] * ROWS, LENGTH)
    token, positions = sequence[:, 5], [5] * ROWS
    silent, _ = layer.step(token, kept, positions)
    output, kept, weights = layer.step(
        token, kept, positions, return_attention_scores=True
    )
    np.testing.assert_array_equal(output, silent)
    slots, prompt = kept.carried["key"].shape[2], kept.constant["key"].shape[2]
    assert weights.shape == (ROWS, HEADS, 1, prompt + slots)
    for position in range(5):
        if position >= 5 - prompt:
            np.testing.assert_allclose(
                weights[:, :, 0, position % prompt],
                full[:, :, 5, position],
                atol=1e-6,
            )
    # The first token after the prompt is in the first slot after it.
    np.testing.assert_allclose(
        weights[:, :, 0, prompt], full[:, :, 5, 5], atol=1e-6
    )
    values = np.concatenate(
        [kept.constant["value"], kept.carried["value"]], axis=2
    )
    heads = np.einsum("bhqs,bhsd->bqhd", weights, values)
    np.testing.assert_allclose(
        layer.output_dense(heads)[:, 0], output, atol=1e-5
    )


@pytest.mark.parametrize(
    ("case", "masked"),
    [*[(case, True) for case in CASES], ("mha", False), ("everything", False)],
)
def test_a_memory_is_attended_to_as_in_a_call(case, masked, sequence, rng):
    layer = make(case, rng, value_features=8)
    memory = rng.normal(size=(ROWS, 5, 8)).astype("float32")
    mask = np.arange(5) < np.array([[5], [1], [3]])
    mask = mask if masked else None
    expected, expected_weights = layer(
        sequence, memory, value_mask=mask, return_attention_scores=True
    )
    kept = layer.project_memory(memory, mask=mask)
    positions = np.array([6, 0, 2])
    token = sequence[np.arange(ROWS), positions][:, None]
    options = {"query_positions": positions[:, None]}
    silent = layer.attend_memory(token, kept, **options)
    output, weights = layer.attend_memory(
        token, kept, **options, return_attention_scores=True
    )
    np.testing.assert_array_equal(output, silent)
    for row, position in enumerate(positions):
        np.testing.assert_allclose(
            output[row, 0], expected[row, position], atol=1e-5
        )
        np.testing.assert_allclose(
            weights[row, :, 0], expected_weights[row, :, position], atol=1e-6
        )


def test_a_key_of_its_own_is_projected(sequence, rng):
    layer = MultiHeadAttention(HEADS, DEPTH)
    value, key = rng.normal(size=(2, ROWS, 5, 8)).astype("float32")
    expected = layer(sequence, value, key)
    kept = layer.project_memory(value, key)
    output = layer.attend_memory(sequence[:, 2:3], kept)
    np.testing.assert_allclose(output[:, 0], expected[:, 2], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["window", "everything"])
def test_xla_compiles_the_same_step(case, sequence, rng):
    layer = make(case, rng)
    lengths = tf.constant([5, 2, 0])

    def next_after(sequence):
        _, kept = layer.prefill(sequence[:, :5], lengths, LENGTH)
        return layer.step(sequence[:, 5], kept, lengths)

    compiled = tf.function(next_after, autograph=False, jit_compile=True)(
        sequence
    )
    keras.tree.map_structure(
        lambda x, y: np.testing.assert_allclose(x, y, atol=1e-5),
        compiled,
        next_after(sequence),
    )


@pytest.mark.parametrize("case", ["everything", "mha"])
def test_one_graph_serves_all_rows_and_lengths(case, sequence, rng):
    layer = make(case, rng)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, FEATURES]),
            tf.TensorSpec([None], tf.int32),
        ]
    )
    def next_after(prompts, lengths):
        # As much room as the prompt has, plus one: known when it runs.
        room = tf.shape(prompts)[1] + 1
        _, kept = layer.prefill(prompts, lengths, room)
        return layer.step(prompts[:, 0], kept, lengths)[0]

    graph = next_after.get_concrete_function().graph
    ops = {op.type for op in graph.get_operations()}
    for function in graph.as_graph_def().library.function:
        ops |= {node.op for node in function.node_def}
    assert "BatchMatMulV2" in ops
    assert not [op for op in ops if op.startswith("Xla")]

    for rows, length in [(3, 5), (1, 2)]:
        prompts = sequence[:rows, :length]
        whole = np.concatenate([prompts, prompts[:, :1]], axis=1)
        expected = layer(whole, whole, use_causal_mask=True)
        lengths = tf.fill([rows], length)
        np.testing.assert_allclose(
            next_after(prompts, lengths), expected[:, -1], atol=1e-5
        )


@pytest.mark.slow
def test_the_server_steps_like_python(sequence, rng, tmp_path):
    layer = make("everything", rng)

    class Served(tf.Module):
        def __init__(self):
            super().__init__()
            # Without them the loader does not find Keras' variables.
            self.values = [weight.value for weight in layer.weights]

        @tf.function(
            input_signature=[
                tf.TensorSpec([None, None, FEATURES], name="prompt"),
                tf.TensorSpec([None], tf.int32, name="lengths"),
                tf.TensorSpec([None, FEATURES], name="token"),
            ]
        )
        def two_steps(self, prompt, lengths, token):
            _, kept = layer.prefill(prompt, lengths, 2)
            first, kept = layer.step(token, kept, lengths)
            second, kept = layer.step(token, kept, lengths + 1)
            return {
                "first": first,
                "second": second,
                "key": kept.carried["key"],
            }

    served = Served()
    tf.saved_model.save(served, tmp_path, signatures={"go": served.two_steps})
    assert not [op for op in cpp_loader.op_names(tmp_path) if "Xla" in op]

    lengths = np.array([6, 3, 0], "int32")
    requests = [sequence[:, :6], lengths, sequence[:, 6]]
    expected = served.two_steps(*requests)
    names = ("prompt", "lengths", "token")
    answer = cpp_loader.run(
        tmp_path, "go", dict(zip(names, requests, strict=True))
    )
    for name, output in expected.items():
        np.testing.assert_allclose(answer[name], output, atol=1e-5)


@pytest.mark.parametrize(
    ("policy", "dtype"),
    [
        ("mixed_bfloat16", "bfloat16"),
        ("mixed_float16", "float16"),
        ("float64", "float64"),
    ],
)
@pytest.mark.parametrize("case", ["mha", "everything"])
def test_the_cache_has_the_dtype_that_is_computed_in(
    policy, dtype, case, sequence, rng
):
    config = {**make(case, rng).get_config(), "dtype": policy}
    layer = MultiHeadAttention.from_config(config)
    layer.build(sequence.shape, sequence.shape)
    expected = layer(sequence, sequence, use_causal_mask=True)
    _, kept = layer.prefill(sequence[:, :4], [4, 4, 4], LENGTH)
    empty = layer.empty_cache(ROWS, LENGTH)
    memory = layer.project_memory(sequence)
    for leaf in tf.nest.flatten([kept.carried, empty, memory]):
        assert leaf.dtype == dtype
    output, kept = layer.step(sequence[:, 4], kept, [4, 4, 4])
    assert output.dtype == dtype
    for leaf in tf.nest.flatten(kept.carried):
        assert leaf.dtype == dtype
    np.testing.assert_allclose(
        tf.cast(output, "float32"),
        tf.cast(expected[:, 4], "float32"),
        atol=1e-6 if dtype == "float64" else 3e-2,
    )
    assert layer.attend_memory(sequence[:, :1], memory).dtype == dtype


def test_lora_and_integers_of_any_width_step_alike(sequence, rng):
    layer = make("mha", rng)
    for dense in (layer.query_dense, layer.value_dense):
        dense.enable_lora(2)
        dense.lora_kernel_b.assign(rng.normal(size=dense.lora_kernel_b.shape))
    expected = layer(sequence, sequence, use_causal_mask=True)
    lengths = np.array([4, 4, 4], "int64")
    _, kept = layer.prefill(sequence[:, :4], lengths, LENGTH)
    output, _ = layer.step(sequence[:, 4], kept, lengths)
    np.testing.assert_allclose(output, expected[:, 4], atol=1e-5)


@pytest.mark.parametrize("prompt", [True, False], ids=["prompt", "empty"])
@pytest.mark.parametrize("case", ["mha", "window_longer_than_all"])
def test_a_token_past_the_cache_is_refused(case, prompt, sequence, rng):
    layer = make(case, rng)
    start, kept = 0, layer.empty_cache(ROWS, 2)
    if prompt:
        start = 3
        _, kept = layer.prefill(sequence[:, :3], [3, 3, 3], 2)
    for position in (start, start + 1):
        token = sequence[:, position]
        _, kept = layer.step(token, kept, [position] * ROWS)
    late = np.array([start, start + 2, start + 1])
    with pytest.raises(
        ValueError, match=rf"room for 2 tokens.*max_length.*n {start + 2}"
    ):
        layer.step(token, kept, late)


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_a_graph_gives_nan_for_a_token_past_the_cache(
    jit_compile, sequence, rng
):
    layer = make("gqa", rng)
    step = tf.function(layer.step, autograph=False, jit_compile=jit_compile)
    _, kept = layer.prefill(sequence[:, :3], [3, 1, 2], 2)
    positions = tf.constant([4, 2, 4])  # the third has no slot
    output, after = step(sequence[:, 3], kept, positions)
    expected, _ = layer.step(sequence[:2, 3], rows(kept, 2), positions[:2])
    np.testing.assert_allclose(output[:2], expected, atol=1e-5)
    assert np.isnan(output[2]).all()
    for name in ("key", "value"):  # nothing was overwritten
        np.testing.assert_array_equal(
            after.carried[name][2], kept.carried[name][2]
        )


def rows(kept, count):
    return keras.tree.map_structure(lambda x: x[:count], kept)


def test_what_fills_up_a_prompt_may_be_anything(sequence, rng):
    layer = make("everything", rng)
    lengths = [3, 1, 2]
    expected = layer.prefill(sequence[:, :3], lengths, 2)
    poisoned = sequence[:, :3].copy()
    for row, length in enumerate(lengths):
        poisoned[row, length:] = np.nan
    found = layer.prefill(poisoned, lengths, 2)
    for row, length in enumerate(lengths):
        np.testing.assert_allclose(
            found[0][row, :length], expected[0][row, :length], atol=1e-6
        )
    output, _ = layer.step(sequence[:, 3], found[1], lengths)
    wanted, _ = layer.step(sequence[:, 3], expected[1], lengths)
    np.testing.assert_allclose(output, wanted, atol=1e-6)


@pytest.mark.parametrize("flash_attention", [True, None])
def test_flash_attention_reads_prompts_in_tiles(flash_attention, sequence, rng):
    layer = make("mha", rng, flash_attention=flash_attention)
    read = tf.function(
        lambda x: layer.prefill(x, [4, 2, 5], 1)[0], autograph=False
    )
    graph = read.get_concrete_function(sequence).graph
    loops = [op for op in graph.get_operations() if "While" in op.type]
    assert bool(loops) == bool(flash_attention)


def test_it_adds_no_weights(rng):
    assert issubclass(MultiHeadAttention, CachedAttention)
    ours = make("mha", rng)
    theirs = keras.layers.MultiHeadAttention(HEADS, DEPTH)
    theirs.build((None, None, FEATURES), (None, None, FEATURES))
    assert [w.shape for w in ours.weights] == [w.shape for w in theirs.weights]


def test_layers_with_one_window_share_what_a_step_works_out(sequence, rng):
    layer, other = make("window", rng), make("window", rng)
    _, kept = layer.prefill(sequence[:, :3], [3, 1, 2], 2)
    expected, after = layer.step(sequence[:, 3], kept, [3, 1, 2])
    index = other.step_index(kept, [3, 1, 2])
    output, shared = layer.step(sequence[:, 3], kept, [3, 1, 2], index=index)
    np.testing.assert_array_equal(output, expected)
    keras.tree.map_structure(np.testing.assert_array_equal, shared, after)


def test_a_step_takes_one_vector_for_each_row(sequence, rng):
    layer = make("mha", rng)
    kept = layer.empty_cache(ROWS, 2)
    with pytest.raises(ValueError, match=r"\(rows, features\).*\(3, 1, 10\)"):
        layer.step(sequence[:, :1], kept, [0, 0, 0])
