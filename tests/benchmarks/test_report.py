import pytest

from benchmarks import report
from benchmarks.cases import Case


@pytest.fixture
def cells():
    case = Case(2048, backward=True, causal=False)
    ours = {"milliseconds": 80.0, "extra_megabytes": 50.0}
    keras = {"milliseconds": 100.0, "extra_megabytes": 100.0}
    longest = Case(16384, backward=True, causal=False)
    return {
        (1, case, "ours"): ours,
        (1, case, "keras_op"): keras,
        (1, longest, "ours"): {"process_megabytes": 1999.0},
        (1, longest, "keras_op"): {"note": "needs 52 GB"},
    }


def test_the_table_holds_cells_ratios_and_why_not(cells):
    text = report.markdown(["Settings"], cells, ["ours", "keras_op"])
    title, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith("|") and "---" not in line
    )
    assert title[-2:] == ["time / Keras", "memory / Keras"]
    start = ["on", "2048", "forward + backward", "none"]
    values = ["80.0 ms, 50 MB", "100.0 ms, 100 MB", "0.80", "0.50"]
    assert rows[0] == [*start, *values]
    assert rows[1][-3:] == ["needs 52 GB", "–", "–"]


def test_targets_are_met_missed_or_not_measured(cells):
    lines = report.markdown([], cells, ["ours", "keras_op"]).splitlines()
    assert "- 2048, time, at most 0.9 × Keras op: 0.80, met" in lines
    assert "- 2048, extra memory, at most 0.4 × Keras op: 0.50, MISSED" in lines
    assert "- 4096, time, at most 0.9 × Keras op: not measured" in lines
    assert "- 16384, whole process, under 2000 MB: 1999, met" in lines


def test_results_are_saved_as_text_and_as_cells(cells, monkeypatch, tmp_path):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    text, table = report.save(cells, "the table")
    assert text.read_text() == "the table\n"
    header, first, *_, last = table.read_text().splitlines()
    assert header.startswith("onednn,length,pass,mask,side,milliseconds")
    assert first == "1,2048,forward + backward,none,ours,80.0,50.0,,"
    assert last.endswith("keras_op,,,,needs 52 GB")
