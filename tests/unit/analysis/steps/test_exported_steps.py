from __future__ import annotations

from tests.timeline import empty_tables, insert, together
from tests.unit.analysis.rows import results


def test_the_exporters_figures_are_shown_under_its_own_names() -> None:
    db = empty_tables()
    with together(db):
        for name, step, value in (
            ("exporter.step_trace.Stage", 3, 2_000.0),
            ("exporter.step_trace.Free", 3, 500.0),
            ("exporter.step_trace.Free@1", 3, 700.0),
            ("exporter.step_trace.Free", None, 9.0),
            ("loss", 3, 0.5),
            ("exporter.op_statistic.MatMul.total", None, 1.0),
        ):
            insert(db, "metric", profile_id=2, rank=4, name=name, step=step, value=value)

    found = results("exported_steps", db)

    assert [(row["step"], row["device"], row["figure"], row["dur_ns"]) for row in found] == [
        (3, "1", "Free", 700),
        (3, None, "Free", 500),
        (3, None, "Stage", 2000),
        (None, None, "Free", 9),
    ]
    assert {(row["profile_id"], row["rank"]) for row in found} == {(2, 4)}
