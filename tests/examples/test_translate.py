import pytest

from examples import translate


@pytest.mark.slow
@pytest.mark.parametrize("model", ["transformer", "rnn"])
def test_translates_combinations_it_has_never_seen(model, tmp_path):
    config = translate.Config(
        model=model,
        units=64,
        steps=500,
        warmup_steps=100,
        learning_rate=3e-3,
        num_held_out=64,
        folder=str(tmp_path),
    )
    # One sentence for all would be right about once.
    assert translate.main(config) > 0.5
    assert (tmp_path / "alignment.png").stat().st_size > 1_000
