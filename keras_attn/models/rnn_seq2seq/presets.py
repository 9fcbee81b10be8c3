"""Published sizes of recurrent translators; tests count their parameters."""

_LUONG_AND_SUTSKEVER = dict(
    cell="lstm",
    num_layers=4,
    units=1000,
    embedding_dim=1000,
    reverse_source=True,
    use_bias=False,
)

PRESETS = {
    # Sutskever et al. 2014, section 3.4. https://arxiv.org/abs/1409.3215
    "sutskever2014": dict(
        _LUONG_AND_SUTSKEVER,
        source_vocabulary_size=160_000,
        target_vocabulary_size=80_000,
        attention=None,
    ),
    # Bahdanau et al. 2015, appendix A.2.3. https://arxiv.org/abs/1409.0473
    "bahdanau2015": dict(
        source_vocabulary_size=30_000,
        target_vocabulary_size=30_000,
        cell="gru",
        num_layers=1,
        units=1000,
        embedding_dim=620,
        bidirectional=True,
        initial_state="backward",
        attention="additive",
        attention_units=1000,
        context="input",
        readout="maxout",
        readout_units=500,
        use_bias=False,
    ),
    # Luong et al. 2015, section 4.1. https://arxiv.org/abs/1508.04025
    "luong2015": dict(
        _LUONG_AND_SUTSKEVER,
        source_vocabulary_size=50_000,
        target_vocabulary_size=50_000,
        attention="multiplicative",
        context="attentional",
        dropout=0.2,
    ),
}
