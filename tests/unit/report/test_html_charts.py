"""Charts hold the figures of the document; expected numbers are counted from the drawings of `two_ranks`."""

from __future__ import annotations

import re
from typing import Literal

import msgspec
import pytest

from ascend_sn.report.documents.communication import Link, RankPair
from ascend_sn.report.documents.inference import Inference, RequestStage
from ascend_sn.report.documents.memory import HotSpots, MemoryHolder
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.views import View
from ascend_sn.report.html.chart_data import HeatChart, LinesChart, RankingChart, ShareChart, StackChart
from ascend_sn.report.html.charts import charts_of
from ascend_sn.report.html.communication import link_sums
from ascend_sn.report.html.drawings import drawings_of
from ascend_sn.report.html.run import html_text
from ascend_sn.report.words.language import Language
from tests.unit.report.drawn import drawn_document, nothing

ENGLISH = Language.load("en")

Stage = Literal["total", "copy_in", "inference", "copy_out", "gap"]


@pytest.fixture(scope="module")
def charts() -> dict[str, object]:
    document = drawn_document()
    return dict(charts_of(document, ENGLISH, link_sums(document.communication.links)))


def test_the_bars_of_the_ranks_are_their_steps(charts: dict[str, object]) -> None:
    bars = charts["breakdown"]

    assert isinstance(bars, StackChart)
    assert bars.categories == ["rank 0", "rank 1"]
    # Rank 0 computes in 5 of 10 ns, and 3 of the communication have no compute beside them; rank 1: 7, 1, 2.
    assert {part.kind: part.values for part in bars.parts} == {
        "compute": [5, 7],
        "exposed_comm": [3, 1],
        "free": [2, 2],
    }


def test_the_ring_is_the_mean_of_the_ranks(charts: dict[str, object]) -> None:
    ring = charts["share"]

    assert isinstance(ring, ShareChart)
    assert {piece.kind: piece.value for piece in ring.slices} == {"compute": 6, "exposed_comm": 2, "free": 2}
    assert ring.middle == "60 %"


def test_primitives_are_divided_into_their_parts(charts: dict[str, object]) -> None:
    bars = charts["operations"]

    # Four all-reduces of 5, 5, 2 and 2 ns, each with one ns of transit; the rest is idle.
    assert isinstance(bars, StackChart)
    assert bars.categories == ["allreduce"]
    assert {part.kind: part.values for part in bars.parts} == {"transit": [4], "idle": [10]}


def test_kernels_are_ranked_with_what_they_make_together(charts: dict[str, object]) -> None:
    ranking = charts["kernels"]

    # A: 4 + 4 on rank 0, 6 + 6 on rank 1; B: 1 ns each, four times.
    assert isinstance(ranking, RankingChart)
    assert [(row.label, row.value) for row in ranking.rows] == [("A", 20), ("B", 4)]
    assert ranking.cumulative == [pytest.approx(20 / 24), 1.0]


def test_a_pair_without_time_has_no_bandwidth() -> None:
    link = Link(group_id=None, src_rank=0, dst_rank=1, rank_scope="global", transport="HCCS", size_bytes=8, dur_ns=0,
                bandwidth_bytes_per_s=None, robust_z=None, pattern=None)  # fmt: skip

    charts = charts_of(drawn_document(), ENGLISH, link_sums([link]))

    heat = charts["links-0"]
    assert isinstance(heat, HeatChart)
    assert (heat.rows, heat.columns, heat.cells) == (["0"], ["1"], [[0, 0, 0, None, 8]])


def pair_of(source: int, target: int, wait_ns: int | None, group: str | None = None) -> RankPair:
    return RankPair(src_rank=source, dst_rank=target, group_id=group, transports=None, size_bytes=None,
                    bandwidth_bytes_per_s=None, bandwidth_ratio=None, bandwidth_reason="no-transfers",
                    mean_wait_ns=wait_ns)  # fmt: skip


def test_waits_are_drawn_of_the_group_that_waits_most() -> None:
    document = drawn_document()
    pairs = [pair_of(0, 1, 3), pair_of(1, 0, 2), pair_of(4, 5, 70, "g"), pair_of(6, 5, None, "g")]
    communication = msgspec.structs.replace(document.communication, pairs=pairs)

    charts = charts_of(msgspec.structs.replace(document, communication=communication), ENGLISH, [])

    heat = charts["waits"]
    assert isinstance(heat, HeatChart)
    assert (heat.rows, heat.columns) == (["4", "6"], ["5"])
    assert heat.cells == [[0, 0, 70], [1, 0, None]]


def test_where_nobody_waits_no_waits_are_drawn() -> None:
    document = drawn_document()
    communication = msgspec.structs.replace(document.communication, pairs=[pair_of(0, 1, 0)])

    assert "waits" not in charts_of(msgspec.structs.replace(document, communication=communication), ENGLISH, [])


def test_memory_curves_come_by_component_and_rank(charts: dict[str, object]) -> None:
    lines = charts["memory"]

    assert isinstance(lines, LinesChart)
    assert [group.label for group in lines.groups] == ["PTA, rank 0", "PTA, rank 1"]
    allocated, reserved = lines.groups[0].lines
    assert (allocated.kind, max(value or 0 for value in allocated.y)) == ("allocated", 5 << 28)
    assert set(reserved.y) == {6 << 28}


def stage_of(stage: Stage, mean: float) -> RequestStage:
    return RequestStage(profile_id=0, rank=0, stage=stage, source="request", requests=1, mean_ns=mean, p50_ns=mean,
                        p90_ns=mean, p99_ns=mean, max_ns=int(mean), share_ratio=mean / 10, first_ns=int(mean),
                        steady_mean_ns=None)  # fmt: skip


def test_a_request_is_divided_into_its_stages() -> None:
    stages = [
        stage_of("total", 10),
        stage_of("copy_in", 1),
        stage_of("inference", 6),
        stage_of("copy_out", 2),
        stage_of("gap", 1),
    ]
    document = drawn_document()
    inferred = Inference(collected=True, state="collected", stages=stages)

    charts = charts_of(replaced(document, inferred), ENGLISH, [])

    bars = charts["latency"]
    assert isinstance(bars, StackChart)
    assert [(part.kind, part.values) for part in bars.parts] == [
        ("copy_in", [1.0]), ("inference", [6.0]), ("copy_out", [2.0]), ("gap", [1.0]),
    ]  # fmt: skip


def test_a_run_without_figures_has_no_charts() -> None:
    from ascend_sn.report.assemble.run import assemble

    assert charts_of(assemble(nothing(), ENGLISH), ENGLISH, []) == {}


def replaced(document: Document, inference: Inference) -> Document:
    return msgspec.structs.replace(document, inference=inference)


def test_every_chart_is_drawn_for_print() -> None:
    """What the script shows as a living chart stands in the page as a drawing too."""
    document = drawn_document()
    holder = MemoryHolder(operator_name="aten::mm", module=None, held_bytes=8, block_count=1, share_ratio=1.0)
    spots = HotSpots(rank=0, device="npu", peak_ts_ns=1, device_bytes=8, holder_count=1, holders=[holder])
    memory = msgspec.structs.replace(document.memory, hot_spots=spots)
    document = msgspec.structs.replace(document, memory=memory)
    charts = charts_of(document, ENGLISH, link_sums(document.communication.links))

    page = html_text(document, ENGLISH, View())

    figures = dict(re.findall(r'<figure class="[^"]*" data-chart="([^"]+)">(.*?)</figure>', page, re.DOTALL))
    assert set(charts) - set(figures) == {"phases"}  # nothing in the run says what its phases are
    assert {"kernels", "peak", "operations"} <= set(figures)
    assert [name for name, drawing in figures.items() if "<svg" not in drawing] == []


def test_a_ranking_is_drawn_with_its_values() -> None:
    drawings = drawings_of(charts_of(drawn_document(), ENGLISH, []), ENGLISH)

    widths = [
        float(width) for width in re.findall(r'<rect class="compute"[^>]* width="([0-9.]+)"', drawings["kernels"])
    ]
    assert widths[1] / widths[0] == pytest.approx(4 / 20, abs=1e-3)
    assert re.findall(r'<text class="tick"[^>]*>([^<]+)', drawings["kernels"]) == ["20 ns", "4 ns"]
