"""The report in a real browser, opened as a file with the network off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_sn.report.assemble.run import assemble
from ascend_sn.report.documents.views import View
from ascend_sn.report.html.bundle import report_script
from ascend_sn.report.html.run import html_text
from ascend_sn.report.words.language import Code, Language
from ascend_sn.store import open_run
from tests.browser.opened import opened
from tests.shared_data import requires_shared, shared_path
from tests.unit.report.drawn import nothing, two_ranks
from tests.unit.report.test_pages import HOSTILE, hostile_run

SERIOUS = ("serious", "critical")


def written(folder: Path, run: Any, code: Code = "en") -> Path:
    language = Language.load(code)
    path = folder / "report.html"
    path.write_text(html_text(assemble(run, language), language, View()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("drawn"), two_ranks())


def serious(page: Any, axe: str) -> list[str]:
    page.evaluate(axe)
    found = page.evaluate("async () => (await axe.run(document)).violations")
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in SERIOUS]


def test_the_bundle_was_built() -> None:
    assert report_script(), "python hatch_build.py"


@pytest.mark.parametrize("code", ["en", "zh"])
@requires_shared
@pytest.mark.parametrize(
    "sample", ["torch_npu/text/level1", "kineto/nccl_parser_config", "kineto/cpu_only", "torch_npu/db/level1"]
)
def test_a_sample_opens_without_errors_and_asks_for_nothing(
    chromium: Any, tmp_path: Path, sample: str, code: Code
) -> None:
    with open_run(shared_path("data", *sample.split("/"))) as run:
        path = written(tmp_path, run, code)

    with opened(chromium, path) as found:
        shown = found.page.locator("canvas").count()
        language = found.page.locator("html").get_attribute("lang")

    assert (found.errors, found.requests) == ([], [])
    assert shown >= 2
    assert language == ("zh-CN" if code == "zh" else "en")
    assert path.stat().st_size <= 3_000_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
@requires_shared
def test_nothing_serious_stands_in_the_way_of_a_screen_reader(
    chromium: Any, axe: str, tmp_path: Path, scheme: str
) -> None:
    with open_run(shared_path("data", "torch_npu", "text", "level1")) as run:
        path = written(tmp_path, run)

    with opened(chromium, path, color_scheme=scheme, bypass_csp=True) as found:
        violations = serious(found.page, axe)

    assert violations == []


def test_an_empty_run_opens_too(chromium: Any, axe: str, tmp_path: Path) -> None:
    with opened(chromium, written(tmp_path, nothing()), bypass_csp=True) as found:
        violations = serious(found.page, axe)

    assert (found.errors, violations) == ([], [])


def test_hostile_names_run_nothing(chromium: Any, tmp_path: Path) -> None:
    with opened(chromium, written(tmp_path, hostile_run())) as found:
        ranking = found.page.locator("figure[data-chart=kernels] canvas")
        ranking.hover()
        text = found.page.locator("body").inner_text()
        injected = found.page.locator("body script:not(#report-data)").count()

    assert found.errors == []
    assert HOSTILE.split("\x1b")[0] in text
    assert injected == 1  # the bundle itself


def test_charts_stand_in_for_drawings_and_drawings_are_printed(chromium: Any, drawn: Path) -> None:
    seen = """figures => figures.map(figure => [figure.dataset.chart, ...["canvas", "svg"].map(
        kind => [...figure.querySelectorAll(kind)].some(one => one.checkVisibility()))])"""
    with opened(chromium, drawn) as found:
        figures = found.page.locator("figure[data-chart]")
        on_screen = figures.evaluate_all(seen)
        found.page.emulate_media(media="print")
        on_paper = figures.evaluate_all(seen)

    assert {"breakdown", "kernels", "operations"} <= {name for name, *_ in on_screen}
    assert [one for one in on_screen if one[1:] != [True, False]] == []
    assert [one for one in on_paper if one[1:] != [False, True]] == []


def test_without_a_script_drawings_and_tables_are_there(chromium: Any, drawn: Path) -> None:
    with opened(chromium, drawn, java_script_enabled=False) as found:
        drawings = found.page.locator("main svg[role=img]:visible").count()
        tables = found.page.locator("main table:visible").count()
        empty = found.page.locator("figure[data-chart]:not(:has(svg))").count()

    assert drawings >= 4
    assert tables >= 6
    assert empty == 0


def test_the_ring_is_drawn_in_the_colours_of_its_parts(chromium: Any, drawn: Path) -> None:
    # Compute is 60 %: straight to the right of the middle lies compute, up on the left free time or communication.
    count = """
        canvas => {
          const context = canvas.getContext('2d');
          const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
          const near = (at, r, g, b) => Math.abs(data[at]-r) + Math.abs(data[at+1]-g) + Math.abs(data[at+2]-b) < 12;
          let compute = 0, exposed = 0;
          for (let at = 0; at < data.length; at += 4) {
            if (near(at, 0x00, 0x72, 0xb2)) compute++;
            if (near(at, 0xd5, 0x5e, 0x00)) exposed++;
          }
          return exposed / compute;
        }
    """
    with opened(chromium, drawn) as found:
        ratio = found.page.locator("figure[data-chart=share] canvas").evaluate(count)

    assert ratio == pytest.approx(2 / 6, abs=0.03)


def test_the_timeline_is_moved_through_by_keys(chromium: Any, drawn: Path) -> None:
    with opened(chromium, drawn) as found:
        canvas = found.page.locator("#timeline-view canvas")
        said = found.page.locator("#timeline-view .said")
        canvas.focus()
        canvas.press("ArrowRight")
        first = said.inner_text()
        canvas.press("ArrowRight")
        second = said.inner_text()
        canvas.press("ArrowDown")
        below = said.inner_text()

    assert first == "rank 0 \u00b7 device \u00b7 stream 1 \u00b7 A \u00b7 4 ns"
    assert second == "rank 0 \u00b7 device \u00b7 stream 1 \u00b7 B \u00b7 1 ns"
    assert below.startswith("rank 0 \u00b7 device \u00b7 stream 2 \u00b7 ")


@requires_shared
def test_tables_are_sorted_and_searched_by_keys(chromium: Any, tmp_path: Path) -> None:
    with open_run(shared_path("data", "torch_npu", "text", "level1")) as run:
        path = written(tmp_path, run)

    with opened(chromium, path) as found:
        card = found.page.locator("#operators .card").first
        calls = card.locator("th button").nth(2)
        calls.focus()
        calls.press("Enter")
        falling = [int(text.replace(",", "")) for text in card.locator("tbody td:nth-child(3)").all_inner_texts()]
        state = card.locator("th").nth(2).get_attribute("aria-sort")
        card.locator("input[type=search]").fill("transdata")
        left = card.locator("tbody tr:visible td:first-child").all_inner_texts()

    assert falling == sorted(falling, reverse=True)
    assert falling[0] == 114  # TransData, as kernel_details.csv has it 57 times on either rank
    assert state == "descending"
    assert left == ["TransData"]


def test_light_and_dark_can_be_chosen(chromium: Any, drawn: Path) -> None:
    with opened(chromium, drawn, color_scheme="light") as found:
        button = found.page.locator("button.appearance")
        button.press("Enter")
        button.press("Enter")
        ground = found.page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert ground == "rgb(19, 21, 24)"


def test_what_is_folded_away_is_printed(chromium: Any, drawn: Path) -> None:
    with opened(chromium, drawn) as found:
        found.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        folded = found.page.locator("details:not([open])").count()
        found.page.evaluate("dispatchEvent(new Event('afterprint'))")
        again = found.page.locator("details:not([open])").count()

    assert folded == 0
    assert again > 0
