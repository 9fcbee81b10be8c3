"""Settings of Hugging Face's folders, in our words."""

import pytest

from keras_attn.decoding import search_settings

SEQ2SEQ = {"is_encoder_decoder": True, "decoder_start_token_id": 7}


@pytest.mark.parametrize(
    ("generation", "config", "expected"),
    [
        ({}, {}, {"search": "greedy"}),
        (
            {"do_sample": True, "temperature": 0.6, "top_p": 0.9},
            {"eos_token_id": 3},
            {
                "search": "sample",
                "temperature": 0.6,
                "top_k": 50,
                "top_p": 0.9,
                "min_p": 0.0,
                "end_id": 3,
            },
        ),
        (
            {"do_sample": True, "top_k": 0, "min_p": 0.1, "eos_token_id": [4]},
            {"eos_token_id": 3},
            {
                "search": "sample",
                "temperature": 1.0,
                "top_k": 0,
                "top_p": 1.0,
                "min_p": 0.1,
                "end_id": [4],
            },
        ),
        (
            {"num_beams": 4, "max_length": 142, "min_length": 56},
            SEQ2SEQ,
            {
                "search": "beam",
                "rule": "huggingface",
                "width": 4,
                "length_penalty": 1.0,
                "early_stopping": False,
                "max_length": 141,
                "min_length": 55,
                "start_id": 7,
            },
        ),
        (
            {
                "num_beams": 2,
                "length_penalty": -0.5,
                "early_stopping": "never",
                "max_new_tokens": 9,
                "max_length": 20,
                "min_new_tokens": 3,
                "min_length": 8,
                "eos_token_id": [5, 6],
                "bos_token_id": 1,
            },
            {"is_encoder_decoder": True},
            {
                "search": "beam",
                "rule": "huggingface",
                "width": 2,
                "length_penalty": -0.5,
                "early_stopping": "never",
                "max_length": 9,
                "min_length": 3,
                "end_id": [5, 6],
                "start_id": 1,
            },
        ),
        (
            {
                "repetition_penalty": 1.2,
                "no_repeat_ngram_size": 3,
                "forced_bos_token_id": 0,
                "forced_eos_token_id": [2],
                "suppress_tokens": [9, 8],
                "begin_suppress_tokens": [220],
                "bad_words_ids": [[11], [2]],
                "eos_token_id": 2,
            },
            SEQ2SEQ,
            {
                "search": "greedy",
                "repetition_penalty": 1.2,
                "no_repeat_ngram_size": 3,
                "forced_start_id": 0,
                "forced_end_id": 2,
                "forbidden_ids": [8, 9, 11],
                "begin_forbidden_ids": [220],
                "end_id": 2,
                "start_id": 7,
            },
        ),
        # A length that counts the prompt says nothing of the answer's.
        ({"max_length": 4096}, {"bos_token_id": 1}, {"search": "greedy"}),
        # Older folders have it all in config.json, or in its decoder's part.
        (
            {},
            {**SEQ2SEQ, "num_beams": 3, "max_length": 20, "top_k": 7},
            {
                "search": "beam",
                "rule": "huggingface",
                "width": 3,
                "length_penalty": 1.0,
                "early_stopping": False,
                "max_length": 19,
                "start_id": 7,
            },
        ),
        (
            {"max_new_tokens": 16},
            {**SEQ2SEQ, "decoder": {"eos_token_id": 50256, "num_beams": 9}},
            {
                "search": "greedy",
                "end_id": 50256,
                "max_length": 16,
                "start_id": 7,
            },
        ),
    ],
    ids=[
        *("nothing", "sampling", "all_tokens", "beams", "new_tokens"),
        *("constraints", "prompt", "older", "decoder"),
    ],
)
def test_settings_are_said_in_our_words(generation, config, expected):
    assert search_settings(generation, config) == expected


def test_what_does_nothing_is_passed_over():
    idle = {
        "use_cache": True,
        "output_scores": True,
        "transformers_version": "5.0.0",
        "pad_token_id": 0,
        "_from_model_config": True,
        "num_beam_groups": 1,
        "penalty_alpha": None,
        "typical_p": 1.0,
        "guidance_scale": 1.0,
        "encoder_no_repeat_ngram_size": 0,
        "suppress_tokens": [],
        "forced_bos_token_id": None,
        "temperature": 0.6,
        "eta_cutoff": 0.3,  # of sampling alone
        "min_length": 0,
    }
    assert search_settings(idle, {}) == {"search": "greedy"}


@pytest.mark.parametrize(
    ("generation", "key"),
    [
        ({"num_beams": 4, "num_beam_groups": 2}, "num_beam_groups"),
        ({"num_beams": 4, "diversity_penalty": 0.3}, "diversity_penalty"),
        ({"num_beams": 4, "renormalize_logits": True}, "renormalize_logits"),
        ({"num_beams": 4, "do_sample": True}, "num_beams"),
        ({"penalty_alpha": 0.6}, "penalty_alpha"),
        ({"do_sample": True, "typical_p": 0.5}, "typical_p"),
        ({"do_sample": True, "epsilon_cutoff": 0.1}, "epsilon_cutoff"),
        ({"watermarking_config": {"bias": 2.5}}, "watermarking_config"),
        ({"encoder_no_repeat_ngram_size": 3}, "encoder_no_repeat_ngram_size"),
        ({"exponential_decay_length_penalty": [9, 1.1]}, "exponential_decay"),
        ({"sequence_bias": [[[3], 1.0]]}, "sequence_bias"),
        ({"guidance_scale": 1.5}, "guidance_scale"),
        ({"bad_words_ids": [[3], [4, 5]]}, r"bad_words_ids=\[4, 5\]"),
        ({"forced_eos_token_id": [1, 2]}, "forced_eos_token_id"),
        ({"forced_bos_token_id": 1}, "forced_bos_token_id"),
        ({"min_length": 5}, "min_length=5.*min_new_tokens"),
        ({"stop_strings": ["\n"]}, "stop_strings"),
    ],
)
def test_what_cannot_be_expressed_is_refused_by_name(generation, key):
    with pytest.raises(ValueError, match=rf"^generation_config.json has {key}"):
        search_settings(generation, {})
    with pytest.raises(ValueError, match=rf"^config.json has {key}"):
        search_settings({}, generation)
