"""What the real transformers library writes, and what we write from it."""

import numpy as np

from keras_attn.decoding import generate
from keras_attn.models import from_huggingface
from tests.models import peers

VOCABULARY = 17
LENGTH = 9

# Our names for settings of `generate` in transformers.
NAMES = {
    "num_beams": "width",
    "forced_bos_token_id": "forced_start_id",
    "forced_eos_token_id": "forced_end_id",
    "suppress_tokens": "forbidden_ids",
    "begin_suppress_tokens": "begin_forbidden_ids",
    "min_new_tokens": "min_length",
    "eos_token_id": "end_id",
}


def gpt2(folder):
    """A language model of theirs, its prompts, and ours."""
    config = peers.transformers().GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=8,
        n_layer=2,
        n_head=2,
        n_positions=24,
        bos_token_id=None,
        eos_token_id=None,
    )
    peer = peers.make("GPT2LMHeadModel", config, folder)
    prompts = np.random.default_rng(1).integers(VOCABULARY, size=(4, 5))
    return peer, prompts, from_huggingface(folder), {}


def bart(folder):
    """The same of a model that reads a source."""
    config = peers.transformers().BartConfig(
        vocab_size=VOCABULARY,
        d_model=8,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=10,
        decoder_ffn_dim=10,
        max_position_embeddings=24,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
    )
    peer = peers.make("BartForConditionalGeneration", config, folder)
    peer.generation_config.eos_token_id = None
    sources = np.random.default_rng(2).integers(3, VOCABULARY, size=(3, 6))
    return peer, sources, from_huggingface(folder), {"start_id": 2}


def theirs(peer, inputs, *, num_results=1, **settings):
    """(batch, num_results, LENGTH) tokens, and scores of a beam search."""
    import torch

    ends = settings["eos_token_id"]
    fill = ends[0] if isinstance(ends, list) else ends
    answer = peer.generate(
        torch.tensor(inputs),
        attention_mask=torch.ones_like(torch.tensor(inputs)),
        max_new_tokens=LENGTH,
        do_sample=False,
        pad_token_id=fill,
        num_return_sequences=num_results,
        return_dict_in_generate=True,
        output_scores=True,
        **settings,
    )
    encoder_decoder = peer.config.is_encoder_decoder
    prompt = 1 if encoder_decoder else inputs.shape[1]
    tokens = answer.sequences.numpy()[:, prompt:]
    room = [(0, 0), (0, LENGTH - tokens.shape[1])]
    tokens = np.pad(tokens, room, constant_values=fill)
    tokens = tokens.reshape(len(inputs), num_results, LENGTH)
    if settings.get("num_beams", 1) == 1:
        return tokens, None
    return tokens, answer.sequences_scores.numpy().reshape(tokens.shape[:2])


def ours(model, inputs, *, num_results=1, **settings):
    """The same from our model, by their names."""
    settings = {NAMES.get(name, name): x for name, x in settings.items()}
    if "width" not in settings:
        tokens = generate(model, inputs, max_length=LENGTH, **settings)
        return tokens.numpy()[:, None], None
    tokens, scores = generate(
        model,
        inputs,
        search="beam",
        rule="huggingface",
        max_length=LENGTH,
        num_results=num_results,
        **settings,
    )
    return tokens.numpy(), scores.numpy()
