from keras_attn.export.bundle.text_tables import text_table


def test_columns_are_as_wide_as_their_widest_value():
    rows = [("name", "count"), ("a", 12345678), ("longer", 9)]
    assert text_table(rows, right=(1,)).splitlines() == [
        "name       count",
        "------  --------",
        "a       12345678",
        "longer         9",
    ]


def test_lines_end_with_what_they_say():
    assert text_table([("a", "b"), ("c", "")]).splitlines()[-1] == "c"
