"""Published sizes of RNNLanguageModel; tests count their parameters."""

# Zaremba et al. 2014, section 4.1, on the Penn Treebank.
# https://arxiv.org/abs/1409.2329
PRESETS = {
    name: dict(
        vocabulary_size=10_000,
        units=units,
        num_layers=2,
        cell="lstm",
        dropout=dropout,
        pad_id=None,
    )
    for name, units, dropout in (
        ("zaremba2014-medium", 650, 0.5),
        ("zaremba2014-large", 1500, 0.65),
    )
}
