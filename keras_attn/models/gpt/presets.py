"""Published sizes of GPT; tests count their parameters."""

# Radford et al. 2019, table 2.
# https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf
PRESETS = {
    name: dict(
        vocabulary_size=50257,
        num_layers=num_layers,
        num_heads=num_heads,
        units=units,
        max_length=1024,
        pad_id=None,
    )
    for name, num_layers, num_heads, units in (
        ("gpt2", 12, 12, 768),
        ("gpt2-medium", 24, 16, 1024),
        ("gpt2-large", 36, 20, 1280),
        ("gpt2-xl", 48, 25, 1600),
    )
}
