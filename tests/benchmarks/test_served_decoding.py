import tensorflow as tf

from benchmarks import served_decoding


def found(**rates):
    return {
        (search, batch, side): {"rate": rate * batch, "first": 2.0 * rate}
        for search in ("greedy", "beam")
        for batch in (1, 8)
        for side, rate in rates.items()
    }


def test_the_report_says_which_targets_are_met():
    lines = served_decoding.report(
        found(before=1.0, now=1.3), ["before", "now"]
    )
    assert "| greedy | 8 | 8 | 10 |" in lines
    targets = [line for line in lines if "target" in line]
    assert [line.rpartition(": ")[2] for line in targets] == [
        *("NOT met", "met", "met"),  # 1.4, 1.1 and 1.0 times before
        *("met", "NOT met") * 2,  # 2.0 and 2.6 seconds
    ]


def test_without_folders_of_before_nothing_is_compared_with_them():
    lines = served_decoding.report(found(now=1.0), ["now"])
    assert not any("before" in line for line in lines)


def test_a_side_answers_in_a_process_of_its_own(tmp_path):
    upper = tf.function(lambda text: {"text": tf.strings.upper(text)})
    signature = upper.get_concrete_function(
        tf.TensorSpec([None], tf.string, "text")
    )
    folder = tmp_path / "greedy" / "1"
    tf.saved_model.save(tf.Module(), folder, {"generate": signature})
    with served_decoding.Side(tmp_path).started("greedy") as ask:
        for texts in (["a"], ["b", "c"]):
            result = ask(texts, 0.01)
            assert result["answers"] >= 1
            assert result["first"] > 0
            assert result["seconds"] >= 0.01
