"""The pages of the web page but the timeline, in a real browser, served by a process of its own."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from duckdb import DuckDBPyConnection
from playwright.sync_api import expect

from scripts.page_pictures import TABS
from tests.browser.opened import Opened
from tests.browser.viewing import await_that, state, until, viewing, visited
from tests.shared_data import requires_shared, shared_path
from tests.timeline import insert, timeline, together
from tests.unit.insight.drawn_runs import write_run
from tests.unit.report.drawn import add_rank
from tests.unit.report.test_pages import HOSTILE, hostile_run

PAGES = (
    "overview", *(f"operators?tab={tab}" for tab in TABS), "communication", "memory", "findings", "compare", "health",
)  # fmt: skip
SERIOUS = ("serious", "critical")
SEEN = HOSTILE.split("\x1b")[0]

_SCROLLED = """
    async () => {
      for (let at = 0; at < document.body.scrollHeight; at += 500) {
        scrollTo(0, at);
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      }
      scrollTo(0, 0);
    }
"""
_THERE = "() => document.querySelector('main h1, main h2') && !document.querySelector('main > .pending')"
_SETTLED = """
    () => {
      const missing = [...document.querySelectorAll('.pending, .table-place, .loading')]
        .filter(one => !one.closest('details:not([open])'));
      missing[0]?.scrollIntoView();  // what came in the meantime may have moved it out of sight
      return missing.length === 0;
    }
"""


def drawn_tables() -> DuckDBPyConnection:
    """Two ranks with a call each to which rank 1 comes 3 ns late, and a few blocks of memory on rank 0."""
    db = timeline(
        """
        r0 step |11111111112222222222|
        r0 s1   |AAAA.BB...AAAA.B....|
        r1 step |11111111112222222222|
        r1 s1   |AAA..B....AAA..D....|
        """
    )
    db.execute("delete from profile")
    for rank in (0, 1):
        add_rank(db, rank)
        for sequence, start, dur in ((0, 2, 5), (1, 10 + 3 * rank, 8 - 3 * rank)):
            insert(db, "collective", profile_id=rank, rank=rank, collective_id=sequence, op="allreduce", name="ar",
                   group_id="g", sequence=sequence, ts_ns=start, dur_ns=dur, size_bytes=64)  # fmt: skip
        insert(db, "comm_group_member", profile_id=rank, rank=rank, group_id="g", group_rank=rank, group_size=2,
               size_is_exact=True, member_rank=rank)  # fmt: skip
    blocks = [("alloc", 0, 10, "a"), ("alloc", 3, 20, "b"), ("alloc", 5, 30, "c"), ("free", 7, 30, "c"),
              ("free", 12, 10, "a"), ("alloc", 15, 40, "a")]  # fmt: skip
    level = 0
    with together(db):
        for kind, ts, size, address in blocks:
            level += size if kind == "alloc" else -size
            insert(db, "memory_event", profile_id=0, rank=0, ts_ns=ts, kind=kind, size_bytes=size, address=address,
                   device="NPU:0", operator_name=f"op{size}", allocated_bytes=level, reserved_bytes=100)  # fmt: skip
    return db


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("drawn")
    with viewing(folder / "cache", write_run(drawn_tables(), folder / "run")) as url:
        yield url


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = shared_path("cases", "dv20_compare_jitter")
    with viewing(tmp_path_factory.mktemp("cache"), folder / "base", folder / "cand_regressed") as url:
        yield url


SAMPLES = ["drawn", *(pytest.param(name, marks=requires_shared) for name in ("torch_npu", "kineto", "two_runs"))]


def shown(found: Opened, place: str) -> None:
    """Go to a place of the page and wait until everything on it is there."""
    found.page.evaluate("place => { location.hash = place }", place)
    page = place.removeprefix("#/").partition("?")[0]
    await_that(found, "page => window.__ascendSn.route().page === page", page)
    await_that(found, _THERE)
    for _ in range(2):  # what comes into sight makes the page longer
        found.page.evaluate(_SCROLLED)
        await_that(found, _SETTLED)


def column(found: Opened, card: str, title: str) -> list[str]:
    """The texts of a column of the table in the card of a heading."""
    place = found.page.locator("section.card", has=found.page.locator(f"h2:text-is('{card}')"))
    heads = [text.strip() for text in place.locator("thead th").all_inner_texts()]
    return [text.strip() for text in place.locator(f"tbody td:nth-child({heads.index(title) + 1})").all_inner_texts()]


@pytest.mark.parametrize(("locale", "scheme"), [("en-US", "light"), ("zh-CN", "dark")])
@pytest.mark.parametrize("sample", SAMPLES)
def test_every_page_opens_without_errors_asks_no_one_else_and_can_be_read_aloud(
    chromium: Any, axe: str, sample: str, locale: str, scheme: str, request: pytest.FixtureRequest
) -> None:
    headings, alerts, wide, violations = {}, [], [], []
    with visited(chromium, request.getfixturevalue(sample), "#/overview", locale=locale, color_scheme=scheme) as found:
        for page in PAGES:
            shown(found, f"#/{page}")
            headings[page] = found.page.locator("main h1, main h2").first.inner_text()
            alerts += found.page.locator("[role=alert]").all_inner_texts()
            if found.page.evaluate("() => document.documentElement.scrollWidth > innerWidth"):
                wide.append(page)
            found.page.evaluate(axe)
            told = found.page.evaluate("async () => (await axe.run(document)).violations")
            violations += [
                f"{page} {one['id']}: {one['nodes'][0]['html'][:200]}" for one in told if one["impact"] in SERIOUS
            ]

    assert (found.errors, found.requests, alerts) == ([], [], [])
    assert all(headings.values())
    assert wide == []
    assert violations == []


def test_hostile_names_are_text(chromium: Any, tmp_path: Path) -> None:
    texts = ""
    run = write_run(hostile_run().db, tmp_path / "run")
    with viewing(tmp_path / "cache", run) as url, visited(chromium, url, "#/overview") as found:
        for place in ("operators", "operators?tab=kernels", "communication", "memory", "health"):
            shown(found, f"#/{place}")
            texts += found.page.locator("main").inner_text()
        scripts = found.page.locator("script").count()

    assert found.errors == []
    assert texts.count(SEEN) >= 5
    assert scripts == 1  # the page's own


def test_the_verdict_is_the_first_sentence(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn, "#/overview") as found:
        shown(found, "#/overview")
        headline = found.page.locator("main h1").first.inner_text()
        said = found.page.evaluate("async () => (await (await fetch('api/v1/runs/a/document?lang=en')).json()).verdict")

    assert headline == said[0]["text"]


def test_pages_are_reached_by_keys_alone(chromium: Any, drawn: str) -> None:
    pages = ("operators", "communication", "memory", "findings", "compare", "health", "overview")
    with visited(chromium, drawn, "#/overview") as found:
        shown(found, "#/overview")
        for letter, place in zip("pcmfdho", pages, strict=True):
            found.page.keyboard.press("g")
            found.page.keyboard.press(letter)
            await_that(found, "place => window.__ascendSn.route().page === place", place)
        found.page.keyboard.press("?")
        helped = found.page.locator("dialog[open]").inner_text()
        found.page.keyboard.press("Escape")
        expect(found.page.locator("dialog[open]")).to_have_count(0)
        found.page.keyboard.press("Tab")
        found.page.keyboard.press("Enter")
        expect(found.page.locator("#main")).to_be_focused()  # the first stop skips the header

    assert "Go to a page" in helped
    assert "Data health" in helped


def test_language_and_theme_are_switched_and_kept(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn, "#/operators", locale="en-US", color_scheme="light") as found:
        shown(found, "#/operators")
        found.page.locator("button.language").press("Enter")
        expect(found.page.locator("main h1")).to_have_text("算子")
        found.page.locator("button.theme").press("Enter")
        found.page.locator("button.theme").press("Enter")
        found.page.reload()
        expect(found.page.locator("main h1")).to_have_text("算子")
        theme = found.page.evaluate("() => document.documentElement.dataset.theme")

    assert theme == "dark"


def test_a_table_is_sorted_and_searched_by_keys(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn, "#/operators?tab=kernels") as found:
        shown(found, "#/operators?tab=kernels")
        header = found.page.locator("th", has_text="duration")
        header.locator("button").focus()
        found.page.keyboard.press("Enter")
        expect(header).to_have_attribute("aria-sort", "descending")
        await_that(found, _SETTLED)  # the server sorts
        falling = column(found, "Kernels", "duration")
        found.page.locator("main input[type=search]").fill("d")
        expect(found.page.locator("main tbody tr")).to_have_count(1)
        names = column(found, "Kernels", "name")

    assert falling == [f"{length} ns" for length in (4, 4, 3, 3, 2, 1, 1, 1)]
    assert names == ["D"]


def test_ranks_are_summed_and_compared(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn, "#/operators") as found:
        shown(found, "#/operators")
        merged = dict(
            zip(column(found, "Kernel types", "operator type"), column(found, "Kernel types", "total"), strict=True)
        )
        shown(found, "#/operators?rank=0&against=1")
        more = dict(
            zip(
                column(found, "Kernel types", "operator type"),
                column(found, "Kernel types", "total, difference"),
                strict=True,
            )
        )

    assert merged == {"A": "14 ns", "B": "4 ns", "D": "1 ns"}
    assert more == {"A": "-2 ns", "B": "-2 ns", "D": "-"}  # what rank 0 lacks is not zero


def test_a_row_leads_to_its_slice(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn, "#/operators?tab=kernels") as found:
        shown(found, "#/operators?tab=kernels")
        found.page.locator("main input[type=search]").fill("d")
        expect(found.page.locator("main tbody tr")).to_have_count(1)
        found.page.locator("td.act a").click()
        await_that(found, "() => window.__ascendSn.timeline?.()?.pick?.ref?.name === 'D'")
        ref = state(found)["pick"]["ref"]

    assert (ref["profile_id"], ref["start"], ref["dur"]) == (1, 15, 1)


def test_a_table_is_downloaded_as_csv(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn, "#/operators?tab=kernels") as found:
        shown(found, "#/operators?tab=kernels")
        with found.page.expect_download() as waited:
            found.page.locator("a.download").click()
        content = waited.value.path().read_text(encoding="utf-8-sig")

    rows = list(csv.DictReader(io.StringIO(content)))
    assert sorted(row["name"] for row in rows) == ["A", "A", "A", "A", "B", "B", "B", "D"]


def test_the_rank_that_comes_last_is_marked(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn, "#/communication") as found:
        shown(found, "#/communication")
        found.page.locator("section.card", has_text="Calls over their ranks").get_by_role(
            "button", name="Ranks", exact=True
        ).first.click()
        figure = found.page.locator("figure.members")
        expect(figure.locator("ol li")).to_have_count(2)
        last = figure.locator("li.last .who").inner_text()
        place = found.page.evaluate("() => location.hash")

    assert " ".join(last.split()) == "rank 1last, 3 ns late" or last.split() == [
        "rank",
        "1",
        "last,",
        "3",
        "ns",
        "late",
    ]
    assert "op=allreduce" in place
    assert "call=1" in place


@pytest.mark.parametrize(
    ("blocks", "sizes"), [("alive", ["20 B", "10 B"]), ("made", ["30 B", "20 B"]), ("freed", ["30 B", "10 B"])]
)
def test_blocks_of_the_chosen_range_are_listed(chromium: Any, drawn: str, blocks: str, sizes: list[str]) -> None:
    span = {"alive": "from=8&to=11", "made": "from=2&to=6", "freed": "from=6&to=13"}[blocks]
    with visited(chromium, drawn, f"#/memory?{span}&blocks={blocks}") as found:
        shown(found, f"#/memory?{span}&blocks={blocks}")
        listed = column(found, "Memory over time", "size")

    assert listed == sizes


@requires_shared
def test_a_range_of_the_curve_is_chosen_by_the_wheel(chromium: Any, torch_npu: str) -> None:
    with visited(chromium, torch_npu, "#/memory") as found:
        shown(found, "#/memory")
        chart = found.page.locator(".chart").first
        chart.hover()
        found.page.keyboard.down("Control")
        found.page.mouse.wheel(0, -400)
        found.page.keyboard.up("Control")
        await_that(found, "() => /from=\\d+/.test(location.hash)")
        expect(found.page.get_by_role("button", name="Whole curve")).to_be_visible()


@requires_shared
@pytest.mark.parametrize("code", ["en", "zh"])
def test_every_page_has_its_link_in_sight(chromium: Any, two_runs: str, code: str) -> None:
    hidden = {}
    with visited(chromium, two_runs, f"#/health?lang={code}") as found:
        found.page.locator(".badge").wait_for()
        for width in (700, 920, 1100, 1280, 1366, 1600):
            found.page.set_viewport_size({"width": width, "height": 700})
            room, taken = found.page.evaluate(
                "(bar => [bar.clientWidth, bar.scrollWidth])(document.querySelector('.bar nav'))"
            )
            if taken > room:
                hidden[width] = taken - room

    assert hidden == {}


@requires_shared
def test_two_runs_are_compared_and_sides_swapped(chromium: Any, two_runs: str) -> None:
    with visited(chromium, two_runs, "#/compare") as found:
        shown(found, "#/compare")
        worse = found.page.locator("main h1").inner_text()
        first = column(found, "Where it differs", "what")[0]
        found.page.get_by_role("button", name="Swap sides").press("Enter")
        expect(found.page.locator("main h1")).to_contain_text("better")

    assert "worse" in worse
    assert first.splitlines()[0] == "compute: MatMulV2"


@requires_shared
def test_findings_say_gain_evidence_and_what_to_do(chromium: Any, torch_npu: str) -> None:
    with visited(chromium, torch_npu, "#/findings") as found:
        shown(found, "#/findings")
        rows = found.page.evaluate(
            "async () => (await (await fetch('api/v1/runs/a/document?lang=en')).json()).findings.rows"
        )
        cards = found.page.locator("article.finding")
        titles = cards.locator("h2").all_inner_texts()
        advice = cards.locator(".advice dd:nth-of-type(1)").all_inner_texts()
        priced = [text for text in cards.locator(".worth").all_inner_texts() if text.startswith("Gain")]
        cards.first.get_by_role("link", name="Show on timeline").click()  # a link once it is known where the step lies
        await_that(found, "() => window.__ascendSn.timeline?.()?.frames > 0")
        chosen = found.page.locator("[data-slice-name]").inner_text()
        span = state(found)["span"]

    assert [row["title"] in title for row, title in zip(rows, titles, strict=True)] == [True] * len(rows)
    assert advice == [row["suggestion"] for row in rows]
    assert len(priced) == len([row for row in rows if row["gain"]])
    assert chosen == "hcom_allReduce__586_0_1"  # the longest exposed call of rank 0, framed
    assert 79_089_520 <= span["to"] - span["from"] < 2 * 79_089_520


_GATED = """
    (() => {
      const gate = window.__gate = { open: true, waiting: [] };
      for (const name of ['requestAnimationFrame', 'setTimeout']) {
        const real = window[name].bind(window);
        const later = (...call) => { gate.waiting.push(() => real(...call)); return 0; };
        window[name] = (...call) => gate.open ? real(...call) : later(...call);
      }
      const ask = window.fetch.bind(window);
      window.fetch = (address, how) => ask(address, { ...how, signal: undefined });
    })()
"""
_CHANGED = """
    async () => {
      window.__gate.open = false;
      const changed = new Promise(done => addEventListener('hashchange', done, { once: true }));
      location.hash = '#/health';
      await changed;
    }
"""
_OPENED = "() => { window.__gate.open = true; window.__gate.waiting.splice(0).forEach(one => one()); }"


def test_an_answer_that_comes_between_two_pages_is_shown(chromium: Any, drawn: str) -> None:
    """The badge asked for the health of the data; the page of it is drawn, and about to ask for the same."""
    held: list[Any] = []
    with visited(chromium, drawn, "#/health") as found:  # for the cookie
        page = found.page.context.new_page()
        page.add_init_script(_GATED)
        page.route("**/api/v1/runs/a/document?*parts=health", lambda route: held.append(route))
        page.goto(f"{drawn.partition('?')[0]}#/overview")
        until(page, lambda: bool(held))
        page.evaluate(_CHANGED)
        asked = len(held)
        with page.expect_event("requestfinished", lambda request: request.url.endswith("parts=health")):
            held[0].continue_()
        page.evaluate("async () => { for (let turn = 0; turn < 100; turn++) await null; }")
        page.evaluate(_OPENED)
        await_that(Opened(page), "() => document.querySelector('main h1')")
        heading = page.locator("main h1").first.inner_text()

    assert heading
    assert len(held) == asked


def test_what_cannot_be_read_says_so(chromium: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no capture", encoding="utf-8")
    beside = write_run(drawn_tables(), tmp_path / "beside")
    with viewing(tmp_path / "cache", tmp_path / "notes.txt", beside) as url:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(url)
        alert = page.locator("[role=alert]")
        expect(alert).to_contain_text("notes.txt cannot be shown")
        context.close()


@requires_shared
def test_bars_of_the_critical_path_have_one_scale(chromium: Any, torch_npu: str) -> None:
    with visited(chromium, torch_npu, "#/overview") as found:
        shown(found, "#/overview")
        widths = found.page.evaluate(
            "() => [...document.querySelectorAll('.shares .share-bar')].map(bar => bar.getBoundingClientRect().width)"
        )

    assert len(widths) > 3
    assert max(widths) - min(widths) < 1


@requires_shared
@pytest.mark.parametrize("width", [1024, 1280])
def test_figures_of_the_evidence_stay_on_their_line(chromium: Any, torch_npu: str, width: int) -> None:
    with visited(chromium, torch_npu, "#/findings") as found:
        found.page.set_viewport_size({"width": width, "height": 860})
        shown(found, "#/findings")
        heights = found.page.evaluate(
            "() => [...document.querySelectorAll('.finding .figure')].map(one => one.getBoundingClientRect().height)"
        )
        where = found.page.locator("article.finding").first.locator(".finding-body .soft.small").last.inner_text()

    assert len(heights) > 20
    assert max(heights) < 26  # two lines are 40 px high
    assert where == "All of rank 0."


@requires_shared
def test_sentences_of_tables_are_not_cut(chromium: Any, torch_npu: str) -> None:
    with visited(chromium, torch_npu, "#/health") as found:
        shown(found, "#/health")
        kinds = column(found, "What could not be read, or had to be assumed", "kind")
        examples = column(found, "What could not be read, or had to be assumed", "example")
        cut = found.page.evaluate("() => document.querySelectorAll('td.long').length")
        score = found.page.locator("section.verdict").inner_text()

    assert kinds == ["kernels that start before the launch they are linked to; the call around it is taken"] * 2
    assert examples == ["-", "-"]  # they only say what the kind says
    assert cut == 0
    assert "486 rows were checked; on the worst rank 87 % of them" in score  # 31 of 243 contradict another


@requires_shared
def test_what_differs_leads_only_to_slices_that_there_are(chromium: Any, two_runs: str) -> None:
    with visited(chromium, two_runs, "#/compare") as found:
        shown(found, "#/compare")
        place = found.page.locator("section.card", has=found.page.locator("h2:text-is('Where it differs')"))
        rows = [row.inner_text() for row in place.locator("tbody tr").all()]
        linked = [row.locator("a").count() > 0 for row in place.locator("tbody tr").all()]

    assert linked == [row.startswith(("compute:", "communication:")) for row in rows]
    assert True in linked
