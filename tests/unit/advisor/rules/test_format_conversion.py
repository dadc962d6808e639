"""R-OP-6: conversions, transpositions, casts and copies on the device."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.timeline import timeline
from tests.unit.advisor.advised import advised, found


def converted(kernels: str, types: dict[str, str]) -> DuckDBPyConnection:
    """A step whose letters stand for operator types; each kernel is launched in time."""
    db = timeline(f"r0 step |{'1' * len(kernels)}|\nr0 s1 |{kernels}|", launched_by=dict.fromkeys(types, "forward"))
    for letter, op_type in types.items():
        db.execute("update kernel set op_type = ?, name = ? where op_type = ?", [op_type, op_type, letter])
    return db


def test_conversions_are_found_and_pairs_that_undo_each_other_are_priced() -> None:
    # T makes 5HD of NCHW, U the other way, and nothing computes between them: both could go.
    db = converted("MMMMTTTUUUMMMMMMMMMM", {"M": "MatMul", "T": "TransData", "U": "TransDataB"})
    db.execute("""
        update kernel set op_type = 'TransData', input_shapes = '8,16', output_shapes = '8,1,16',
                          input_formats = 'NCHW', output_formats = 'NC1HWC0', input_dtypes = 'FLOAT',
                          output_dtypes = 'FLOAT' where op_type = 'TransData'
    """)
    db.execute("""
        update kernel set op_type = 'TransData', input_shapes = '8,1,16', output_shapes = '8,16',
                          input_formats = 'NC1HWC0', output_formats = 'NCHW', input_dtypes = 'FLOAT',
                          output_dtypes = 'FLOAT' where op_type = 'TransDataB'
    """)

    finding = found(db, "R-OP-6")

    assert finding is not None
    params = finding.message.params
    assert (params["names"], params["call_count"], params["time_ns"], params["share_ratio"]) == (
        "TransData",
        2,
        6,
        6 / 20,
    )
    assert params["undone"].params == {"pair_count": 1, "undone_ns": 6}
    assert finding.gain is not None
    assert (finding.gain.expected_ns, finding.gain.high_ns) == (6, 6)


def test_conversions_that_may_be_needed_are_told_without_a_price() -> None:
    finding = found(converted("MMMMTTTMMM", {"M": "MatMul", "T": "TransData"}), "R-OP-6")

    assert finding is not None
    assert (finding.gain, finding.at_stake_ns, finding.severity) == (None, 3, "info")
    assert finding.message.params["undone"] == ""


def test_the_share_counts_from_the_threshold_on() -> None:
    # 2 of 20: 10 %.
    db = converted("MMMMCCMMMMMMMMMMMMMM", {"M": "MatMul", "C": "Cast"})

    assert advised(db, "R-OP-6", thresholds=["R-OP-6.share_from_ratio=0.10"]).quiet == ()
    assert advised(db, "R-OP-6", thresholds=["R-OP-6.share_from_ratio=0.11"]).quiet == ("R-OP-6",)


def test_every_kind_is_a_finding_of_its_own_with_its_own_advice() -> None:
    db = converted(
        "MMMTTTTCCCXXRMMM", {"M": "MatMul", "T": "Transpose", "C": "Cast", "X": "TensorMove", "R": "TransData"}
    )

    findings = advised(db, "R-OP-6").findings

    assert [finding.advice.message_id.removeprefix("rule.r-op-6.advice-") for finding in findings] == [
        "transpose",
        "cast",
        "copy",
        "format-npu",
    ]
