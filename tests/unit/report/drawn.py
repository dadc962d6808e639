"""A run whose tables are drawn or written by hand, opened like any other."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
from duckdb import DuckDBPyConnection

from ascend_sn.model.manifest import RUN_FORMAT, RUN_VERSION, Manifest
from ascend_sn.report.assemble.run import assemble
from ascend_sn.report.documents.run import Document
from ascend_sn.report.words.language import Code, Language
from ascend_sn.store import Run
from ascend_sn.store.input import Input
from tests.timeline import empty_tables, insert, timeline, together

__all__ = ["DrawnRun", "add_rank", "drawn_document", "nothing", "two_ranks"]


class DrawnRun(Run):
    """A run on the tables of a connection."""

    def __init__(self, db: DuckDBPyConnection, name: str = "drawn") -> None:
        self.path = Path(name)
        self.input = Input.of(name)
        self.db = db
        self.job = None
        self.row_count = 0
        self.manifest = Manifest(
            format=RUN_FORMAT,
            version=RUN_VERSION,
            tool_version="0",
            reader_version=1,
            input=name,
            input_bytes=0,
            sources=msgspec.Raw(b"[]"),
            profiles=[],
            tables={},
        )


def add_rank(db: DuckDBPyConnection, rank: int, **values: object) -> None:
    """Insert the profile of a rank; the profile's id is the rank."""
    given = {
        "host": "node-a", "pid": 100 + rank, "device_kind": "npu", "device_id": rank, "device_name": "Ascend910B",
        "format": "drawn", "source": f"rank{rank}", "session_count": 1, "start_ns": 0,
    }  # fmt: skip
    insert(db, "profile", profile_id=rank, rank=rank, **{**given, **values})


def two_ranks() -> DrawnRun:
    """Two ranks, two steps of ten each; C is an all-reduce, everything else compute.

    Rank 0: compute 4, exposed communication 4 (of 5), free 2 in either step.
    """
    db = timeline(
        """
        r0 step |11111111112222222222|
        r0 s1   |AAAA..B...AAAA..B...|
        r0 s2   |...CCCCC.....CCCCC..|
        r1 step |11111111112222222222|
        r1 s1   |AAAAAA.B..AAAAAA.B..|
        r1 s2   |.....CC........CC...|
        """,
        kinds={"C": "communication"},
    )
    db.execute("delete from profile")
    for rank in (0, 1):
        add_rank(db, rank)
        insert(db, "comm_group_member", profile_id=rank, rank=rank, group_id="g", group_rank=rank, group_size=8,
               size_is_exact=False, member_rank=rank)  # fmt: skip
    kernels = db.sql("select profile_id, kernel_id, ts_ns, dur_ns from kernel where kind = 'communication'").fetchall()
    with together(db):
        for number, (profile, kernel, ts, dur) in enumerate(kernels):
            insert(db, "collective", profile_id=profile, rank=profile, collective_id=number, kernel_id=kernel,
                   op="allreduce", name="hcom_allReduce_", group_id="g", sequence=number, size_bytes=1_000_000,
                   ts_ns=ts, dur_ns=dur, transit_ns=1, wait_ns=0, idle_ns=dur - 1, method="recorded")  # fmt: skip
            insert(db, "link", profile_id=profile, rank=profile, group_id="g", src_rank=profile, dst_rank=1 - profile,
                   rank_scope="global", transport="HCCS", size_bytes=1_000_000, dur_ns=1_000_000)  # fmt: skip
    with together(db):
        for rank in (0, 1):
            for at in range(10):
                insert(db, "memory_sample", profile_id=rank, rank=rank, ts_ns=at * 2, component="PTA",
                       allocated_bytes=(1 + at % 5) << 28, reserved_bytes=6 << 28)  # fmt: skip
    return DrawnRun(db)


def nothing() -> DrawnRun:
    """A run without any row but a profile."""
    db = empty_tables()
    add_rank(db, 0)
    return DrawnRun(db)


@cache
def drawn_document(code: Code = "en") -> Document:
    """The document of `two_ranks`; not to be changed."""
    return assemble(two_ranks(), Language.load(code))
