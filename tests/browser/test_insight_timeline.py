"""The timeline of the web page in a real browser, served by a process of its own."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.opened import Opened
from tests.browser.viewing import await_that, idle, state, until, viewing, visited
from tests.shared_data import requires_shared, shared_path
from tests.unit.formats.kineto.traces import annotation, kernel, launch, operator, write

HOSTILE = "<img src=x onerror=alert(1)>"
SERIOUS = ("serious", "critical")
US = 1_000


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One rank of 100 us: two operators which each launch a kernel, the first of a hostile name."""
    folder = tmp_path_factory.mktemp("drawn")
    path = write(
        folder,
        annotation("ProfilerStep#1", 0, 100),
        operator("aten::mm", 10, 20),
        launch(1, 15),
        kernel(HOSTILE, 40, 20, correlation=1),
        operator("aten::add", 45, 15),
        launch(2, 50),
        kernel("add_kernel", 70, 10, correlation=2),
    )
    with viewing(folder / "cache", path) as url:
        yield url


@pytest.fixture(scope="module")
def cpu_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with viewing(tmp_path_factory.mktemp("cache"), shared_path("data", "kineto", "cpu_only")) as url:
        yield url


def chosen(found: Opened) -> tuple[int, str, float, float]:
    """Profile, name, start and length (ns) of the chosen slice."""
    ref = state(found)["pick"]["ref"]
    return ref["profile_id"], ref["name"], ref["start"], ref["dur"]


def press(found: Opened, *keys: str) -> None:
    for key in keys:
        found.page.keyboard.press(key)
        idle(found)


def searched(found: Opened, text: str) -> None:
    found.page.keyboard.press("/")
    found.page.locator("input[type=search].tl-field:focus").fill(text)
    await_that(
        found, "text => window.__ascendSn.timeline().searched === text && !window.__ascendSn.timeline().busy", text
    )


def lane_of(found: Opened, label: str) -> str:
    lane = found.page.locator(".tl-lane", has=found.page.locator(f".tl-label:text-is('{label}')")).first
    name = lane.get_attribute("data-lane")
    assert name is not None
    return str(name)


def place_of(found: Opened, told: dict[str, Any], moment: float) -> float:
    """Where a moment of the common time is on the screen, from the left of the page."""
    left = found.page.locator("#tl-canvas").bounding_box()["x"]
    span = told["span"]
    return float(left + (moment - span["from"]) / (span["to"] - span["from"]) * told["width"])


@pytest.mark.parametrize("code", ["en", "zh"])
@pytest.mark.parametrize(
    "sample",
    ["drawn", pytest.param("torch_npu", marks=requires_shared), pytest.param("cpu_only", marks=requires_shared)],
)
def test_a_run_is_drawn_without_errors_and_asks_no_one_else(
    chromium: Any, sample: str, code: str, request: pytest.FixtureRequest
) -> None:
    with visited(chromium, request.getfixturevalue(sample), locale="zh-CN" if code == "zh" else "en-US") as found:
        told = state(found)
        language = found.page.locator("html").get_attribute("lang")
        tools = found.page.locator("[role=toolbar]").get_attribute("aria-label")

    assert (found.errors, found.requests) == ([], [])
    assert told["rects"] > 0
    assert (language, tools) == (("zh-CN", "时间线工具") if code == "zh" else ("en", "Tools of the timeline"))


def test_every_lane_says_how_many_of_its_slices_are_in_the_window(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn, "#/timeline?t=0:65000") as found:
        told = state(found)
        stream = lane_of(found, "Stream 7")
        expect(found.page.locator(f"[data-lane='{stream}'] .tl-count")).to_have_text("1 / 2")

    assert told["lanes"][stream] == {"rects": 1, "slices": 1, "inLane": 2}


def test_keys_alone_find_a_slice_and_follow_it_to_what_launched_it(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn) as found:
        searched(found, "add_kernel")
        press(found, "Enter", "Escape")
        kernel_found = chosen(found)
        press(found, "[")
        before = chosen(found)
        press(found, "Enter")
        launched = chosen(found)
        press(found, "e")
        back = chosen(found)

    assert [kernel_found, before] == [(0, "add_kernel", 70 * US, 10 * US), (0, HOSTILE, 40 * US, 20 * US)]
    assert launched[1] in ("cudaLaunchKernel", "aten::mm")
    assert launched[2:] == ((15 * US, 5 * US) if launched[1] == "cudaLaunchKernel" else (10 * US, 20 * US))
    assert back == before
    assert found.errors == []


def test_a_hostile_name_is_text_and_no_more(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn) as found:
        searched(found, "onerror")
        press(found, "Enter")
        found.page.locator("[role=tab]", has_text="Slice").click()
        heading = found.page.locator("[data-slice-name]").inner_text()
        images = found.page.locator("main img").count()

    assert heading == HOSTILE
    assert (images, found.errors, found.requests) == (0, [], [])


def test_what_is_chosen_is_said(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn) as found:
        searched(found, "add_kernel")
        press(found, "Enter")
        said = found.page.locator("[data-said]")
        words = (said.get_attribute("aria-live"), said.inner_text().split(" \u00b7 ")[1:])

    assert words == ("polite", ["Stream 7", "add_kernel", "10.0 us"])


def test_the_window_is_moved_by_keys_and_goes_back(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn) as found:

        def window() -> tuple[float, float]:
            span = state(found)["span"]
            return span["from"], span["to"]

        whole = window()
        press(found, "w")
        near = window()
        press(found, "d")
        right = window()
        press(found, "0")
        again = window()
        searched(found, "add_kernel")
        press(found, "Enter", "Escape", "f")
        framed = window()

    assert near[1] - near[0] == pytest.approx((whole[1] - whole[0]) / 1.35)
    assert right[0] == pytest.approx(near[0] + 0.18 * (near[1] - near[0]))
    assert again == whole
    assert framed == (70 * US - 1.5 * US, 80 * US + 1.5 * US)


def test_enter_right_after_typing_waits_for_the_first_hit_of_what_is_typed(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn) as found:
        searched(found, "onerror")
        press(found, "Enter")
        before = chosen(found)[1]
        found.page.keyboard.press("/")
        found.page.locator("input[type=search].tl-field:focus").fill("add_kernel")
        found.page.keyboard.press("Enter")  # long before the server was asked
        await_that(found, "() => window.__ascendSn.timeline().pick?.ref.name.startsWith('add_kernel')")
        said = found.page.locator(".tl-search [role=status]").inner_text()

    assert "onerror" in before
    assert "\u00b7 1 / " in said


def test_the_answer_to_an_older_text_is_none_to_the_one_that_is_typed(chromium: Any, drawn: str) -> None:
    held: list[Any] = []
    with visited(chromium, drawn) as found:
        found.page.route("**/search?*text=onerror*", lambda route: held.append(route))
        found.page.keyboard.press("/")
        field = found.page.locator("input[type=search].tl-field:focus")
        field.fill("onerror")
        until(found.page, lambda: bool(held))
        field.fill("add_kernel")
        found.page.keyboard.press("Enter")
        held[0].continue_()
        await_that(found, "() => window.__ascendSn.timeline().pick?.ref.name === 'add_kernel'")


def test_lanes_are_gone_through_by_arrows(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn) as found:
        found.page.locator("#tl-canvas").focus()
        lanes = []
        for _ in range(12):
            press(found, "ArrowDown")
            lanes.append(state(found)["lane"])
        press(found, "ArrowUp")
        above = state(found)["lane"]

    seen = list(dict.fromkeys(lanes))
    assert len(seen) >= 4
    assert above == seen[-2]


def test_a_range_is_selected_by_keys_and_by_mouse(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn) as found:
        searched(found, "onerror")
        press(found, "Enter", "Escape", "m")
        by_keys = found.page.locator(".tl-range tbody tr:not(.tl-gap)").all_inner_texts()
        told = state(found)
        press(found, "Escape")
        top = found.page.locator("#tl-canvas").bounding_box()["y"] + 40
        found.page.mouse.move(place_of(found, told, 40 * US), top)
        found.page.mouse.down()
        found.page.mouse.move(place_of(found, told, 60 * US), top, steps=3)
        found.page.mouse.up()
        by_mouse = state(found)["range"]
        rows = found.page.locator(".tl-range tbody tr:not(.tl-gap)").all_inner_texts()

    assert told["range"] == {"from": 40 * US, "to": 60 * US, "lanes": None}
    assert any(row.split("\t")[:4] == [HOSTILE, "rank 0", "Stream 7", "1"] or HOSTILE in row for row in by_keys)
    assert by_mouse["from"] == pytest.approx(40 * US, abs=200)
    assert by_mouse["to"] == pytest.approx(60 * US, abs=200)
    assert {row.split("\t")[0] for row in by_keys} <= {row.split("\t")[0] for row in rows}


def test_a_box_takes_only_the_lanes_that_it_touches(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn) as found:
        told = state(found)
        stream = lane_of(found, "Stream 7")
        box = found.page.locator(f"[data-lane='{stream}']").bounding_box()
        found.page.mouse.move(place_of(found, told, 5 * US), box["y"] + 4)
        found.page.mouse.down()
        found.page.mouse.move(place_of(found, told, 95 * US), box["y"] + 12, steps=3)
        found.page.mouse.up()
        lanes = state(found)["range"]["lanes"]
        names = {row.split("\t")[0] for row in found.page.locator(".tl-range tbody tr:not(.tl-gap)").all_inner_texts()}

    assert lanes == [stream]
    assert names == {HOSTILE, "add_kernel"}


def test_marks_are_named_and_outlive_the_page(chromium: Any, drawn: str, tmp_path: Path) -> None:
    with visited(chromium, drawn) as found:
        searched(found, "add_kernel")
        press(found, "Enter", "Escape", "k")
        field = found.page.locator("[data-mark] input.tl-field:focus")
        field.fill("slow add")
        with found.page.expect_response(lambda reply: reply.url.endswith("/marks") and reply.request.method == "PUT"):
            field.press("Enter")
    with visited(chromium, drawn) as found:
        found.page.locator("[role=tab]", has_text="Marks").click()
        names = [one.input_value() for one in found.page.locator("[data-mark] input.tl-field").all()]
        with found.page.expect_download() as waiting:
            found.page.get_by_role("button", name="Save marks as JSON").click()
        waiting.value.save_as(tmp_path / "marks.json")
        saved = json.loads((tmp_path / "marks.json").read_text(encoding="utf-8"))
        with found.page.expect_response(lambda reply: reply.url.endswith("/marks") and reply.request.method == "PUT"):
            found.page.get_by_role("button", name="Remove slow add").click()
        expect(found.page.locator("[data-mark]")).to_have_count(0)

    assert names == ["slow add"]
    assert [(mark["name"], mark["from"], mark["to"]) for mark in saved] == [("slow add", 70 * US, 80 * US)]


def test_lanes_are_shown_where_the_marks_cannot_be_read(chromium: Any, drawn: str) -> None:
    said = {"error": {"code": "store", "message": "marks.json: the marks cannot be read", "hint": ""}}
    with visited(chromium, drawn, "#/overview") as found:
        found.page.route("**/marks", lambda route: route.fulfill(status=422, json=said))
        found.page.evaluate("location.hash = '#/timeline'")
        idle(found)
        notice = found.page.get_by_role("alert").inner_text()
        searched(found, "add_kernel")
        press(found, "Enter", "Escape")
        name = chosen(found)[1]
        found.page.unroute("**/marks")
        found.page.get_by_role("button", name="Try again").click()
        found.page.get_by_role("alert").wait_for(state="detached")

    assert notice.startswith("marks.json: the marks cannot be read")
    assert name == "add_kernel"


def test_an_address_shows_the_same_to_somebody_else(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn) as found:
        searched(found, "add_kernel")
        press(found, "Enter", "Escape", "p", "m", "w")
        before = state(found)
        await_that(
            found,
            """from => {
              const given = new URLSearchParams(location.hash.split('?')[1]);
              return ['t', 'slice', 'range', 'pin'].every(name => given.has(name))
                && Math.abs(Number(given.get('t').split(':')[0]) - from) < 0.01;
            }""",
            before["span"]["from"],
        )
        place = found.page.evaluate("location.hash")
    with visited(chromium, drawn, place) as found:
        after = state(found)

    assert after["pick"] == before["pick"]
    assert after["range"] == before["range"]
    assert after["pinned"] == before["pinned"] == [before["lane"]]
    assert after["span"] == pytest.approx(before["span"], abs=0.01)


def test_a_row_of_a_table_is_shown_on_the_timeline(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn, "#/timeline?find=kernel:0:1&frame=1") as found:
        told = state(found)

    assert told["pick"]["ref"]["name"] == "add_kernel"
    assert told["span"] == {"from": 68.5 * US, "to": 81.5 * US}


def test_a_row_that_is_gone_is_said_and_the_page_works(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn, "#/timeline?find=kernel:0:99") as found:
        said = found.page.locator("main [role=alert]").inner_text()
        searched(found, "add_kernel")
        press(found, "Enter", "Escape", "p")
        await_that(found, "() => location.hash.includes('pin=')")

    assert "no slice of the timeline comes from the row 99 of the table kernel" in said


def test_the_table_beside_the_canvas_holds_what_is_drawn(chromium: Any, drawn: str, tmp_path: Path) -> None:
    with visited(chromium, drawn, "#/timeline?find=kernel:0:0") as found:
        press(found, "0", "t")
        names = found.page.locator(".tl-twin tbody tr:not(.tl-gap) td:nth-child(2)").all_inner_texts()
        with found.page.expect_download() as waiting:
            found.page.get_by_role("button", name="Save as CSV").click()
        waiting.value.save_as(tmp_path / "lane.csv")
        with (tmp_path / "lane.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))

    assert names == [HOSTILE, "add_kernel"]
    assert [(row["name"], row["start_ns"], row["end_ns"], row["count"]) for row in rows] == [
        (HOSTILE, "40000", "60000", "1"), ("add_kernel", "70000", "80000", "1"),
    ]  # fmt: skip


def test_lanes_are_filtered_pinned_hidden_and_folded(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn) as found:
        stream = lane_of(found, "Stream 7")
        everything = found.page.locator(".tl-lane").count()
        found.page.locator(".tl-filter").fill("stream")
        expect(found.page.locator(".tl-lane")).to_have_count(1)
        filtered = found.page.locator(".tl-lane").evaluate_all("all => all.map(one => one.dataset.lane)")
        found.page.locator(".tl-filter").fill("")
        expect(found.page.locator(".tl-lane")).to_have_count(everything)
        found.page.locator(f"[data-lane='{stream}']").click()
        press(found, "p")
        expect(found.page.locator(".tl-pinned .tl-lane")).to_have_count(1)
        press(found, "p", "h")
        expect(found.page.locator(f"[data-lane='{stream}']")).to_have_count(0)
        found.page.get_by_role("button", name="Show hidden lanes").first.click()
        expect(found.page.locator(f"[data-lane='{stream}']")).to_have_count(1)
        found.page.locator(".tl-heading.whose button").first.press("Enter")
        expect(found.page.locator(".tl-lane")).to_have_count(0)

    assert everything >= 4
    assert filtered == [stream]


@requires_shared
def test_a_search_finds_as_many_slices_as_the_files_hold(chromium: Any, torch_npu: str) -> None:
    text, held = "TransDataSpecial_TransData", 0
    for path in sorted(shared_path("data", "torch_npu", "text", "level1").glob("*/*/kernel_details.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            held += sum(text in row["Name"] for row in csv.DictReader(file))

    with visited(chromium, torch_npu) as found:
        searched(found, text)
        count = found.page.locator("[data-hits]").get_attribute("data-hits")
        press(found, "Enter", "Escape", "n", "n")
        third = found.page.locator(".tl-search [role=status]").inner_text()
        press(found, "N")
        second = found.page.locator(".tl-search [role=status]").inner_text()
        name = chosen(found)[1]

    assert held > 0
    assert count == str(held)
    assert third.endswith(f"3 / {held}")
    assert second.endswith(f"2 / {held}")
    assert text in name


@requires_shared
def test_a_collective_leads_to_the_other_rank_and_ranks_meet_at_its_end(chromium: Any, torch_npu: str) -> None:
    with visited(chromium, torch_npu, "#/timeline?find=collective:0:0&frame=1") as found:
        first = state(found)
        found.page.locator("[data-link=collective]").first.click()
        other = state(found)
        found.page.locator("summary", has_text="Align").click()
        found.page.get_by_label("At the chosen collective").check()
        await_that(found, "() => location.hash.includes('align=collective')")
        places = state(found)["places"]

    one, two = first["pick"]["ref"], other["pick"]["ref"]
    assert (one["profile_id"], two["profile_id"]) == (0, 1)
    assert places["a.0"] + one["start"] + one["dur"] == places["a.1"] + two["start"] + two["dur"]


@requires_shared
def test_a_rank_is_moved_so_that_two_slices_begin_together(chromium: Any, torch_npu: str) -> None:
    with visited(chromium, torch_npu, "#/timeline?find=kernel:0:10&frame=1") as found:
        base = state(found)["pick"]["ref"]
        press(found, "l")
        found.page.evaluate("() => { location.hash = '#/timeline?find=kernel:1:20&frame=1' }")
        await_that(found, "() => window.__ascendSn.timeline().pick.ref.profile_id === 1")
        moved = state(found)["pick"]["ref"]
        press(found, "l")
        places = state(found)["places"]

    assert places["a.1"] + moved["start"] == places["a.0"] + base["start"]


def test_two_runs_meet_at_their_first_step_and_tell_what_got_slower(chromium: Any, tmp_path: Path) -> None:
    # The step begins 30 us later in the second trace, and the kernel takes 20 us instead of 10.
    for name, shift, dur in (("base", 0, 10), ("candidate", 30, 20)):
        (tmp_path / name).mkdir()
        write(
            tmp_path / name,
            operator("aten::empty", 0, 2),
            annotation("ProfilerStep#1", 5 + shift, 60),
            launch(1, 10 + shift),
            kernel("mm", 20 + shift, dur, correlation=1),
        )
    with (
        viewing(tmp_path / "cache", tmp_path / "base", tmp_path / "candidate") as url,
        visited(chromium, url, "#/timeline?compare=1&slice=b:0:0:0:0") as found,
    ):
        told = state(found)
        runs = found.page.locator(".tl-heading.level-0 .tl-label").all_inner_texts()
        stream = lane_of(found, "Stream 7")
        await_that(found, "() => window.__ascendSn.timeline().changed > 0")
        box = found.page.locator(f"[data-lane='{stream}']").bounding_box()
        found.page.mouse.move(place_of(found, told, told["places"]["a.0"] + 25 * US), box["y"] + 8)
        tip = found.page.locator(".tl-tip")
        expect(tip).to_contain_text("10.0 us \u2192 20.0 us")
        expect(tip).to_contain_text("+100 %")

    assert runs == ["a: base", "b: candidate"]
    assert told["places"]["b.0"] - told["places"]["a.0"] == -30 * US
    assert (found.errors, found.requests) == ([], [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_stands_in_the_way_of_a_screen_reader(chromium: Any, axe: str, drawn: str, scheme: str) -> None:
    with visited(chromium, drawn, "#/timeline?find=kernel:0:1", color_scheme=scheme, bypass_csp=True) as found:
        press(found, "m", "k")
        found.page.locator("[data-mark] input.tl-field:focus").press("Enter")
        searched(found, "kernel")
        found.page.evaluate(axe)
        violations = []
        for panel in ("Slice", "Range", "Search", "Marks", "Table"):
            found.page.locator("[role=tab]", has_text=panel).click()
            idle(found)
            violations += found.page.evaluate("async () => (await axe.run(document)).violations")
        found.page.locator("[role=tab]", has_text="Marks").click()
        found.page.get_by_role("button", name=re.compile(r"Remove Mark \d+")).last.click()

    assert [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in violations if one["impact"] in SERIOUS] == []


def test_what_is_typed_right_after_the_key_of_the_search_reaches_its_field(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn) as found:
        focused = found.page.evaluate(
            """async () => {
              const pressed = new KeyboardEvent('keydown', { key: '/', bubbles: true });
              document.getElementById('tl-canvas').dispatchEvent(pressed);
              for (let turn = 0; turn < 5; turn++) await Promise.resolve();  // no frame is drawn meanwhile
              return document.activeElement.getAttribute('type');
            }"""
        )

    assert focused == "search"


def test_statistics_of_a_range_say_how_slices_count(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn, "#/timeline?range=1000:2000") as found:
        found.page.get_by_role("tab", name="Range").click()
        said = found.page.locator(".tl-range .soft").first.inner_text()

    assert "slices that reach into the range count with their whole length" in said
