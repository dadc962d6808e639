"""The HTML and Markdown reports: self-contained, escaped, bounded, in the guide's order."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import msgspec
import pytest

from ascend_sn.report.assemble.run import assemble
from ascend_sn.report.documents.communication import Link
from ascend_sn.report.documents.health import Difference
from ascend_sn.report.documents.memory import MemoryOperator
from ascend_sn.report.documents.operators import KernelShape, KernelType, Operator
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.timeline import StepTimeline, TimelineLane, TimelineSlice
from ascend_sn.report.documents.views import View, view_of
from ascend_sn.report.html.run import html_text
from ascend_sn.report.markdown.run import markdown_text
from ascend_sn.report.words.language import CODES, Code, Language
from tests.timeline import insert, timeline
from tests.unit.report.drawn import DrawnRun, add_rank, drawn_document, nothing, two_ranks

ENGLISH = Language.load("en")
HOSTILE = "<script>alert(1)</script>\"'&|`\x1b[31m"
VOID = {"meta", "br", "img", "line", "rect", "path", "polygon", "polyline", "circle", "link", "input", "hr"}


class Structure(HTMLParser):
    """Collects what a page is made of and finds elements that are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self.unclosed: list[str] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.unclosed += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self._open.append(tag)

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self._open or self._open.pop() != tag:
            self.unclosed.append(tag)


def hostile_run() -> DrawnRun:
    db = timeline("r0 step |1111|\nr0 s1 |AA..|\nr0 s2 |..C.|", kinds={"C": "communication"})
    db.execute("delete from profile")
    add_rank(db, 0, device_name=HOSTILE, format=HOSTILE, source=HOSTILE)
    db.execute("update kernel set op_type = $name, core_type = $name", {"name": HOSTILE})
    insert(
        db,
        "operator",
        rank=0,
        operator_id=0,
        name=HOSTILE,
        thread="t",
        ts_ns=0,
        dur_ns=2,
        self_ns=2,
        depth=0,
        phase="forward",
    )
    insert(db, "collective", rank=0, collective_id=0, op=HOSTILE, name=HOSTILE, ts_ns=2, dur_ns=1)
    insert(db, "link", rank=0, src_rank=0, dst_rank=1, rank_scope="global", transport=HOSTILE, size_bytes=1, dur_ns=1)
    insert(db, "memory_sample", rank=0, ts_ns=1, component=HOSTILE, allocated_bytes=1, reserved_bytes=2)
    insert(db, "damage", rank=0, file=HOSTILE, kind=HOSTILE, severity="damage", count=1, example=HOSTILE)
    insert(db, "coverage", rank=0, table_name="stack", state="missing", reason=HOSTILE, turn_on=HOSTILE)
    return DrawnRun(db, HOSTILE.replace("/", ""))


def without_script(page: str) -> str:
    """The page without the bundle, which names the addresses of standards."""
    return re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)


@pytest.fixture(scope="module")
def document() -> Document:
    return drawn_document()


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("make", [two_ranks, nothing, hostile_run])
def test_every_page_is_well_formed(code: str, make: object) -> None:
    chosen: Code = "zh" if code == "zh" else "en"
    language = Language.load(chosen)
    document = drawn_document(chosen)
    if make is not two_ranks:
        document = assemble(nothing() if make is nothing else hostile_run(), language)

    page = Structure(html_text(document, language, View()))

    assert page.unclosed == []
    assert len(page.ids) == len(set(page.ids))


def test_the_page_asks_for_nothing_from_elsewhere(document: Document) -> None:
    text = html_text(document, ENGLISH, View())
    page = Structure(text)
    written = without_script(text)

    assert not {"link", "img", "iframe", "object", "embed"}.intersection(page.tags)
    assert [value for name, value in page.attributes if name in ("src", "href") and not value.startswith("#")] == []
    assert re.findall(r"url\((?!#)[^)]*\)|@import|https?://", written) == []
    assert "default-src 'none'" in text


def test_hostile_names_stay_text() -> None:
    text = html_text(assemble(hostile_run(), ENGLISH), ENGLISH, View())

    page = Structure(text)

    assert page.tags.count("script") in (0, 2)  # the data and the bundle, where it was built
    assert "<script>alert" not in text
    assert "\x1b" not in text
    assert [name for name, _ in page.attributes if name.startswith("on") or name == "style"] == []


def test_discovery_recognises_the_page_as_ours(document: Document) -> None:
    assert b"generated by ascend-sn" in html_text(document, ENGLISH, View()).encode()[: 64 << 10]
    assert "generated by ascend-sn" in markdown_text(document, ENGLISH, View())


def test_sections_come_in_the_order_of_the_guide(document: Document) -> None:
    ids = Structure(html_text(document, ENGLISH, View())).ids

    wanted = ["health", "overview", "operators", "communication", "memory", "notes"]
    assert [name for name in ids if name in wanted] == wanted


def test_a_view_of_one_section_holds_only_that(document: Document) -> None:
    view = view_of(memory=True, communication=False, fusion=False, top_k=None)

    ids = Structure(html_text(document, ENGLISH, view)).ids

    assert "memory" in ids
    assert "operators" not in ids
    assert "communication" not in ids


def test_the_page_stays_below_three_megabytes_whatever_the_run(document: Document) -> None:
    name = "x" * 500
    kernel = KernelType(op_type=name, kind="compute", core_type="AI_CORE", calls=1, total_ns=1, mean_ns=1, min_ns=1,
                        max_ns=1, share_ratio=0.1, cumulative_ratio=0.1)  # fmt: skip
    operator = Operator(
        name=name, calls=1, device_ns=1, host_ns=1, mean_device_ns=1, input_bytes=1, output_bytes=1, share_ratio=0.1
    )
    link = Link(group_id="g", src_rank=0, dst_rank=1, rank_scope="global", transport="HCCS", size_bytes=1, dur_ns=1,
                bandwidth_bytes_per_s=1.0, robust_z=None, pattern=None)  # fmt: skip
    held = MemoryOperator(rank=0, operator_name=name, retained_bytes=1, peak_bytes=1, allocation_count=1)
    shape = KernelShape(op_type=name, kind="compute", core_type="AI_CORE", input_shapes="9," * 400, input_dtypes=name,
                        calls=1, total_ns=1, mean_ns=1, min_ns=1, max_ns=1, share_ratio=0.1)  # fmt: skip
    slices = [
        TimelineSlice(name=f"<{number}>" + "<" * 200, kind="compute", depth=0, start_ns=123_456_789_000 + number,
                      dur_ns=123_456_789, slice_count=1000, busy_ns=123_456_789)
        for number in range(12_000)
    ]  # fmt: skip
    lane = TimelineLane(profile_id=0, rank=0, place="device", lane=name, slice_count=10**9, slices=slices)
    replace = msgspec.structs.replace
    first, phase = document.breakdown.ranks[0], document.breakdown.phases[0]
    huge = replace(
        document,
        breakdown=replace(
            document.breakdown,
            ranks=[replace(first, profile_id=rank, rank=rank) for rank in range(5000)],
            phases=[replace(phase, profile_id=rank, rank=rank) for rank in range(5000)],
        ),
        operators=replace(
            document.operators, kernels=[kernel] * 5000, operators=[operator] * 5000, shapes=[shape] * 5000
        ),
        timeline=StepTimeline(
            scope="step", step=1, dur_ns=200_000_000_000, profile_count=1, is_aligned=True, error_ns=None, lanes=[lane]
        ),
        communication=replace(
            document.communication,
            links=[replace(link, src_rank=n // 70, dst_rank=n % 70) for n in range(4900)],
            operations=document.communication.operations * 500,
        ),
        memory=replace(
            document.memory,
            operators=[held] * 5000,
            peaks=document.memory.peaks * 2500,
            curves=document.memory.curves * 200,
        ),
    )

    text = html_text(huge, ENGLISH, View(top_k=100_000))

    assert len(text.encode()) <= 3_000_000


def test_the_bars_of_a_rank_are_as_long_as_its_parts(document: Document) -> None:
    text = html_text(document, ENGLISH, View())
    figure = text[text.index('role="img" aria-label="Step breakdown"') :].partition("</svg>")[0]
    widths = {
        kind: float(width)
        for kind, width in re.findall(r'<rect class="(\w+)" x="[\d.]+" y="5.0" width="([\d.]+)"', figure)
    }

    whole = sum(widths.values())

    assert widths["compute"] / whole == pytest.approx(0.5, abs=0.001)
    assert widths["exposed_comm"] / whole == pytest.approx(0.3, abs=0.001)
    assert widths["free"] / whole == pytest.approx(0.2, abs=0.001)


def test_markdown_tables_keep_their_shape_with_hostile_names() -> None:
    text = markdown_text(assemble(hostile_run(), ENGLISH), ENGLISH, View())

    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)

    assert tables
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    assert "<script>" not in text
    assert "\x1b" not in text


def test_markdown_says_what_is_absent() -> None:
    text = markdown_text(assemble(nothing(), ENGLISH), ENGLISH, View())

    assert "nothing was recorded" in text


def test_captures_that_differ_are_said_before_the_verdict() -> None:
    document = drawn_document()
    odd = Difference(setting="config.level", usual_value="Level1", usual_count=7, other_value="Level0", other_ranks="3",
                     other_count=1)  # fmt: skip
    health = msgspec.structs.replace(document.health, differences=[odd])

    text = html_text(msgspec.structs.replace(document, health=health), ENGLISH, View())

    assert text.index("Level0") < text.index('class="card verdict"')
