from benchmarks import train_step


def test_ours_is_held_against_keras_hub():
    results = {
        "ours": {"milliseconds": 90.0, "megabytes": 500.0},
        "KerasHub": {"milliseconds": 100.0, "megabytes": 1000.0},
        "torch": {"milliseconds": 80.0, "megabytes": 400.0},
    }
    assert train_step.row("gpt", 64, results) == (
        "| gpt | 64 | 90 ms, 500 MB | 100 ms, 1,000 MB | 80 ms, 400 MB | "
        "0.90 | 0.50 |"
    )


def test_padding_is_left_out_of_random_ids():
    assert train_step.batch(7).shape == (3, train_step.BATCH, 7)
    assert train_step.batch(7).min() > 0
