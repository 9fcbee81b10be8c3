"""From a generation_config.json to the settings of a search."""

from collections.abc import Mapping

# What `generate` takes where a folder says nothing.
_DEFAULTS = {
    "do_sample": False,
    "num_beams": 1,
    "length_penalty": 1.0,
    "early_stopping": False,
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "min_p": 0.0,
}
# Settings of every search: theirs, ours, and what leaves all as it is.
_CONSTRAINTS = [
    ("repetition_penalty", "repetition_penalty", 1.0),
    ("no_repeat_ngram_size", "no_repeat_ngram_size", 0),
    ("forced_bos_token_id", "forced_start_id", None),
    ("forced_eos_token_id", "forced_end_id", None),
    ("begin_suppress_tokens", "begin_forbidden_ids", ()),
]
# What no search here does, and the values with which it does nothing.
_IDLE = {
    "num_beam_groups": (1,),
    "diversity_penalty": (0,),
    "penalty_alpha": (0,),
    "dola_layers": (),
    "typical_p": (1,),
    "top_h": (),
    "epsilon_cutoff": (0,),
    "eta_cutoff": (0,),
    "encoder_repetition_penalty": (1,),
    "encoder_no_repeat_ngram_size": (0,),
    "renormalize_logits": (False,),
    "exponential_decay_length_penalty": (),
    "sequence_bias": (),
    "guidance_scale": (1,),
    "watermarking_config": (),
    "constraints": (),
    "force_words_ids": (),
    "forced_decoder_ids": (),
    "stop_strings": (),
    "max_time": (),
    "token_healing": (False,),
}
# The only search in which such a setting does anything.
_ONLY_IN = {
    **dict.fromkeys(("num_beam_groups", "diversity_penalty"), "beam"),
    "renormalize_logits": "beam",
    **dict.fromkeys(("typical_p", "top_h"), "sample"),
    **dict.fromkeys(("epsilon_cutoff", "eta_cutoff"), "sample"),
}
_TOKENS = ("eos_token_id", "decoder_start_token_id", "bos_token_id")
_PARTS = ("decoder", "generator", "text_config")


def search_settings(generation_config: Mapping, config: Mapping) -> dict:
    """Say in our words how a folder of Hugging Face wants to be searched.

    Sampling becomes "sample", several beams "beam" by the rule "huggingface",
    anything else "greedy". Where no length is told, none is: theirs would be
    20. Lengths that count the prompt say nothing of the answer's.

    Args:
        generation_config: Of generation_config.json; if empty, older folders
            have the same keys in config.json.
        config: Of config.json.

    Returns:
        What `export_model` takes: "search", its options, "end_id", and where
        they are told "max_length" and "start_id".

    Raises:
        ValueError: If a setting is in use that no search here has.
    """
    name = "generation_config.json" if generation_config else "config.json"
    given = _given(generation_config, config)
    encoder_decoder = bool(config.get("is_encoder_decoder"))
    settings = _search(given, name)
    _refuse(given, name, settings["search"])
    for theirs, ours, idle in _CONSTRAINTS:
        value = given.get(theirs, idle)
        if value not in (idle, []):
            settings[ours] = value
    _take_one(settings, "forced_end_id", "forced_eos_token_id", name)
    if "forced_start_id" in settings and not encoder_decoder:
        raise _refusal(
            name,
            "forced_bos_token_id",
            given["forced_bos_token_id"],
            "a model that continues prompts has nothing to begin with.",
        )
    ends = given.get("eos_token_id")
    if ends is not None:
        settings["end_id"] = ends if isinstance(ends, int) else [*ends]
    forbidden = _forbidden(given, name, ends)
    if forbidden:
        settings["forbidden_ids"] = forbidden
    return settings | _lengths(given, name, encoder_decoder)


def _given(generation_config, config):
    """All settings that are told, the outermost first."""
    inner = [config.get(part) or {} for part in _PARTS]
    given = {}
    for source in (*reversed(inner), config):
        given |= {k: v for k, v in source.items() if v is not None}
    if not generation_config:
        return given
    # Ids tell what the model is, and are in config.json of any age.
    ids = {key: given[key] for key in _TOKENS if key in given}
    told = {k: v for k, v in generation_config.items() if v is not None}
    return ids | told


def _search(given, name):
    chosen = {key: given.get(key, value) for key, value in _DEFAULTS.items()}
    samples, width = chosen["do_sample"], chosen["num_beams"]
    if samples and width > 1:
        raise _refusal(
            name,
            "num_beams",
            width,
            "beams are not drawn, and do_sample is true. Set do_sample to "
            "false, or num_beams to 1.",
        )
    if samples:
        names = ("temperature", "top_k", "top_p", "min_p")
        return {"search": "sample"} | {each: chosen[each] for each in names}
    if width > 1:
        return {
            "search": "beam",
            "rule": "huggingface",
            "width": width,
            "length_penalty": chosen["length_penalty"],
            "early_stopping": chosen["early_stopping"],
        }
    return {"search": "greedy"}


def _refuse(given, name, search):
    for key, idle in _IDLE.items():
        value = given.get(key)
        # What is empty or null does nothing.
        if value in (None, [], {}) or value in idle:
            continue
        if _ONLY_IN.get(key, search) != search:
            continue
        raise _refusal(name, key, value, "no search here does that.")


def _forbidden(given, name, ends):
    ends = [ends] if isinstance(ends, int) else ends or []
    words = given.get("bad_words_ids") or []
    long = [word for word in words if len(word) != 1]
    if long:
        raise _refusal(
            name,
            "bad_words_ids",
            long[0],
            "only words of one token can be forbidden.",
        )
    # As theirs does, which keeps the end possible.
    words = [word[0] for word in words if word[0] not in ends]
    return sorted({*words, *(given.get("suppress_tokens") or [])})


def _take_one(settings, ours, theirs, name):
    value = settings.get(ours)
    if isinstance(value, (list, tuple)):
        if len(value) > 1:
            raise _refusal(name, theirs, value, "one token is forced, not any.")
        settings[ours] = value[0]


def _lengths(given, name, encoder_decoder):
    """Lengths of answers, and the start, of which theirs count one token."""
    found = {}
    for ours in ("max_length", "min_length"):
        new = given.get(ours.replace("length", "new_tokens"))
        whole = given.get(ours)
        if new is not None:
            found[ours] = new
        elif whole is not None and encoder_decoder:
            found[ours] = max(whole - 1, 0)
        elif ours == "min_length" and whole:
            raise _refusal(
                name,
                ours,
                whole,
                "it counts the prompt. Set min_new_tokens instead.",
            )
    if not found.get("min_length"):
        found.pop("min_length", None)
    start = given.get("decoder_start_token_id", given.get("bos_token_id"))
    if encoder_decoder and start is not None:
        found["start_id"] = start
    return found


def _refusal(name, key, value, reason):
    return ValueError(
        f"{name} has {key}={value!r}, which cannot be expressed: {reason}"
    )
