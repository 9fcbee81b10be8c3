"""The loop of greedy search and sampling."""

import numpy as np
import pytest
import tensorflow as tf

from keras_attn.decoding import beam
from keras_attn.decoding import sample
from keras_attn.decoding.loop import decode
from tests import cpp_loader
from tests.decoding import markov
from tests.decoding.markov import END


def likeliest(logits, tokens, index):
    return tf.argmax(logits, axis=-1, output_type=tf.int32)


def run(table, max_length, *, step=markov.step, choose=likeliest, **options):
    return decode(
        step,
        choose,
        markov.state(table, max_length),
        batch_size=table.shape[0],
        max_length=max_length,
        **{"start_id": 1, "end_id": END} | options,
    )


def lengths(tokens):
    ended = tokens == END
    return np.where(ended.any(-1), ended.argmax(-1) + 1, tokens.shape[-1])


def test_rows_are_filled_with_the_end_after_their_end(rng):
    tokens = run(markov.tables(rng, 20, 4), 8).numpy()
    assert len(np.unique(lengths(tokens))) > 3
    after = np.arange(8) >= lengths(tokens)[:, None]
    assert (tokens[after] == END).all()


def test_any_of_several_ends_ends_a_row_and_the_first_fills_it(rng):
    table = markov.tables(rng, 20, 5)
    tokens, log_probs = run(table, 8, end_id=(3, END), return_log_probs=True)
    lasts = set()
    for row, written in enumerate(tokens.numpy().tolist()):
        places = [x for x, token in enumerate(written) if token in (3, END)]
        length = min([place + 1 for place in places] + [8])
        assert set(written[length:]) <= {3}
        assert not np.any(log_probs[row, length:])
        assert np.all(log_probs[row, :length] < 0)
        lasts.add(written[length - 1])
    assert {3, END} <= lasts


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_a_row_keeps_the_state_of_its_end(rng, jit_compile):
    table = markov.tables(rng, 20, 4)

    @tf.function(autograph=False, jit_compile=jit_compile)
    def together():
        return run(table, 8, return_state=True)

    tokens, state = together()
    tokens = tokens.numpy()
    np.testing.assert_array_equal(state.carried["steps"], lengths(tokens))
    np.testing.assert_array_equal(state.constant["table"], table)
    for row, length in enumerate(lengths(tokens)):
        fed = [1, *tokens[row, : length - 1]] + [-1] * (8 - length)
        assert state.carried["history"][row].numpy().tolist() == fed


def test_stops_when_all_rows_have_ended(rng):
    calls = tf.Variable(0)

    def step(token, state, index):
        calls.assign_add(1)
        return markov.step(token, state, index)

    table = markov.tables(rng, 20, 4)
    table[..., END] += 2.0
    tokens = tf.function(lambda: run(table, 40, step=step))().numpy()
    longest = lengths(tokens).max()
    assert 2 < longest < 40
    assert int(calls) == longest


def test_the_chooser_sees_what_was_written_and_the_first_token(rng):
    def choose(logits, tokens, index):
        tf.debugging.assert_equal(tokens[:, index:], 3)
        return tf.fill([2], index + 1) + tf.reduce_sum(tokens, axis=-1)

    tokens = run(markov.tables(rng, 2, 90), 4, choose=choose, start_id=3)
    assert tokens[0].numpy().tolist() == [13, 24, 46, 90]


def test_without_an_end_rows_are_full(rng):
    tokens = run(markov.tables(rng, 20, 3), 9, end_id=-1).numpy()
    assert tokens.min() == 0


def test_forbidden_ids_never_come(rng):
    table = markov.tables(rng, 20, 5)
    tokens = run(table, 6, forbidden_ids=[1, END]).numpy()
    assert not np.isin(tokens, [1, END]).any()
    table[..., [1, END]] = -np.inf
    np.testing.assert_array_equal(tokens, run(table, 6))


def log_probs(table, start, tokens):
    """Of each token by the definition; 0 is what fills a row up."""
    values = [
        markov.log_probabilities(table, start, list(tokens[:place]))[token]
        for place, token in enumerate(tokens)
    ]
    return np.array(values)


@pytest.mark.parametrize("forbidden_ids", [(), (2,)], ids=["all", "some"])
def test_log_probabilities_are_the_models_own(rng, forbidden_ids):
    table = markov.tables(rng, 20, 4)
    tokens, found = run(
        table, 8, forbidden_ids=forbidden_ids, return_log_probs=True
    )
    tokens = tokens.numpy()
    for row, length in enumerate(lengths(tokens)):
        wanted = log_probs(table[row], 1, tokens[row, :length])
        np.testing.assert_allclose(found[row, :length], wanted, 1e-5)
        assert not np.any(found[row, length:])


@pytest.mark.parametrize(
    ("end_id", "forced_end_id"), [(END, None), (END, 3), (-1, END)], ids=str
)
def test_a_row_with_a_limit_is_as_if_that_were_the_length(
    rng, end_id, forced_end_id
):
    limits = np.repeat([0, 1, 3, 7, 8], 4)
    table = markov.tables(rng, 20, 4)
    options = dict(end_id=end_id, forced_end_id=forced_end_id)
    options |= {"return_log_probs": True, "return_state": True}
    tokens, found, state = run(table, 8, limits=limits, **options)
    written = np.minimum(lengths(tokens.numpy()), limits)
    if end_id == -1:
        written = limits
    np.testing.assert_array_equal(state.carried["steps"], written)
    for limit in (1, 3, 7, 8):
        rows = limits == limit
        wanted, wanted_log_probs, _ = run(table[rows], limit, **options)
        np.testing.assert_array_equal(tokens[rows][:, :limit], wanted)
        np.testing.assert_allclose(
            found[rows][:, :limit], wanted_log_probs, 1e-6
        )
    after = np.arange(8) >= limits[:, None]
    assert (tokens.numpy()[after] == end_id).all()
    assert not np.any(found.numpy()[after])


def test_one_trace_serves_all_batch_sizes(rng):
    traces = []

    @tf.function(input_signature=[tf.TensorSpec([None, 5, 5, 5])])
    def any_batch(table):
        traces.append(1)
        return decode(
            markov.step,
            likeliest,
            markov.state(table, 6),
            batch_size=tf.shape(table)[0],
            max_length=6,
            start_id=1,
            end_id=END,
        )

    for rows in (3, 1, 0, 4):
        table = markov.tables(rng, rows, 5)
        tokens = any_batch(table)
        assert tokens.shape == (rows, 6)
        np.testing.assert_array_equal(tokens, run(table, 6))
    assert len(traces) == 1


def test_one_token_is_the_shortest_answer(rng):
    assert run(markov.tables(rng, 3, 4), 1).shape == (3, 1)
    with pytest.raises(ValueError, match="`max_length` must be an integer"):
        run(markov.tables(rng, 3, 4), 0)
    with pytest.raises(ValueError, match=r"`max_length` .* not a tensor"):
        decode(
            markov.step,
            likeliest,
            markov.state(markov.tables(rng, 3, 4), 2),
            batch_size=3,
            max_length=tf.constant(2),
            start_id=1,
            end_id=END,
        )


def test_a_compiled_part_is_not_needed_to_serve(rng, tmp_path):
    """The C++ loader, with XLA off, answers as the graph does."""

    class Served(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 5, 5, 5])])
        def __call__(self, table):
            rows = tf.shape(table)[0]
            common = dict(max_length=6, start_id=1, end_id=END, batch_size=rows)
            start = (markov.step, markov.state(table, 6))
            tokens, scores, state = beam(
                *start,
                **common,
                width=3,
                length_penalty=0.6,
                num_results=2,
                return_state=True,
            )
            drawn = sample(
                *start,
                **common,
                seed=7,
                temperature=tf.fill([rows], 0.7),
                top_k=tf.fill([rows], 4),
                top_p=0.9,
                min_p=0.01,
                repetition_penalty=1.1,
            )
            return {
                "greedy": decode(markov.step, likeliest, start[1], **common),
                "sample": drawn,
                "beam": tokens,
                "scores": scores,
                "peer": beam(
                    *start,
                    **common | {"end_id": (3, END)},
                    width=3,
                    rule="huggingface",
                    no_repeat_ngram_size=2,
                    prompt=tf.fill([rows, 2], 1),
                )[0],
                "history": state.carried["history"],
            }

    served = Served()
    folder = tmp_path / "model"
    tf.saved_model.save(served, str(folder), served.__call__)
    assert not [name for name in cpp_loader.op_names(folder) if "Xla" in name]
    requests = [{"table": markov.tables(rng, rows, 5)} for rows in (3, 1)]
    answers = cpp_loader.run_each(folder, "serving_default", requests)
    for request, answer in zip(requests, answers, strict=True):
        expected = served(request["table"])
        for name in ("greedy", "sample", "beam", "peer", "history"):
            np.testing.assert_array_equal(answer[name], expected[name])
        np.testing.assert_allclose(answer["scores"], expected["scores"], 1e-6)
