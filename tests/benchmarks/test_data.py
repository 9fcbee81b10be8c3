from benchmarks import data
from benchmarks import stdlib_text

SPEEDS = {
    "WordPiece, ours": 30.0,
    "WordPiece, tensorflow-text": 100.0,
    "BPE, ours": 1_234.5,
    "BPE, KerasHub": 2_469.0,
}


def test_ratios_are_held_against_their_targets():
    lines = data.tokenizer_table(SPEEDS)
    assert "| BPE, ours | 1,234 |" in lines
    assert any("0.30, target at least 0.2: met" in line for line in lines)
    assert any("0.50, target at least 1.0: NOT met" in line for line in lines)


def test_the_largest_share_counts():
    result = {"alone": 2.0, "ready": 100.0, "together": 104.0, "share": 0.04}
    lines = data.pipeline_table({"a": result, "b": {**result, "share": 0.2}})
    assert "| a | 2.00 | 100.0 | 104.0 | 4.0% | 32,000 |" in lines
    assert "* Largest share 20.0%, target below 10 %: NOT met" in lines


def test_text_to_read_is_real_and_without_repeats():
    lines = stdlib_text.sentences(limit=500)
    assert len(lines) == len(set(lines)) == 500
    assert all(len(line.split()) > 3 for line in lines)
