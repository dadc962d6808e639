"""How far a document is, told while it is made."""

from __future__ import annotations

from ascend_sn.advisor import rules
from ascend_sn.report.assemble.run import assemble
from ascend_sn.report.assemble.told import Told
from ascend_sn.report.documents.views import SECTIONS, Selection
from ascend_sn.report.words.language import Language
from tests.timeline import timeline
from tests.unit.report.drawn import DrawnRun, add_rank


def test_parts_are_counted_in_order_and_rules_are_among_them() -> None:
    db = timeline("r0 step |1111|\nr0 s1 |AA.B|")
    db.execute("delete from profile")
    add_rank(db, 0)
    told: list[tuple[int, int, str]] = []
    selection = Selection(details=frozenset(SECTIONS) - {"timeline"})

    assemble(DrawnRun(db), Language.load("en"), selection, progress=lambda *said: told.append(said))

    codes = list(rules.CODES)
    names = ["steps", *codes, "health", "cluster", "operators", "communication", "memory", "critical_path"]
    assert [name for _, _, name in told] == names
    assert [done for done, _, _ in told] == list(range(len(names)))
    assert told[0][1] == len(names) - len(codes)
    assert {total for _, total, _ in told[1:]} == {len(names)}


def test_nobody_has_to_listen() -> None:
    assert Told(None, ("one",)).of("one", lambda: 7) == 7
