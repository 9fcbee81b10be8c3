from benchmarks import decode

SPEEDS = {"ours": 90.0, "ours, XLA": 120.0, "KerasHub": 40.0, "peer": 50.0}


def test_the_best_of_ours_is_held_against_the_best_peer():
    row = decode.row("small", 8, 4, SPEEDS)
    assert row == (
        "| small | beam-4 | 8 | 90.0 | 120.0 | 40.0 | 50.0 | 2.40 | 2.0 |"
    )


def test_without_peers_there_is_no_ratio():
    row = decode.row("gpt2", 1, 1, {"ours": 90.0})
    assert row == "| gpt2 | greedy | 1 | 90.0 |  | 1.3 |"
