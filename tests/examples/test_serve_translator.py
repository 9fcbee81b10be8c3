import pytest

from examples import serve_translator
from keras_attn import export


@pytest.mark.slow
def test_the_served_answer_is_that_of_the_trained_model(tmp_path, capsys):
    config = serve_translator.Config(
        num_layers=1,
        units=32,
        steps=60,
        warmup_steps=10,
        num_held_out=5,
        width=2,
        folder=str(tmp_path),
    )
    sentence, answer = serve_translator.main(config)
    printed = capsys.readouterr().out
    # Once by Python when it was scored, once by the server.
    assert printed.count(f"{sentence} -> {answer}\n") == 2
    assert "BLEU" in printed
    assert str(tmp_path / "alignment.png") in printed
    assert (tmp_path / "alignment.png").stat().st_size > 1_000
    report = export.verify(tmp_path / "translator" / "1", verbose=False)
    assert report["serving_default"]["requests"] >= 2
