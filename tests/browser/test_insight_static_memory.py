"""The part of the memory page about compiled graphs, on a run of which no other memory was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.viewing import viewing, visited
from tests.unit.formats.torch_npu.runs import START_US, kernel_csv, write_csv, write_info

HEADER = ("Device_id", "Op Name", "Model Name", "Graph ID", "Node Index Start", "Node Index End", "Size(KB)")
# Graph 7, KB by node: 64 72 76 68. Graph 8 is smaller.
ROWS = (
    ("host", "weights", "net", "7", "0", "4294967295", "64"),
    ("host", "conv", "net", "7", "1", "2", "8"),
    ("host", "<b>add</b>", "net", "7", "2", "3", "4"),
    ("host", "TOTAL", "net", "7", "0", "4294967295", "128"),
    ("host", "tiny", "net", "8", "0", "1", "2"),
)
KERNEL = {
    **{"Step Id": "1", "Name": "MatMul", "Type": "MatMul", "Accelerator Core": "AI_CORE"},
    **{"Start Time(us)": f"{START_US}.000\t", "Duration(us)": "10"},
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("compiled")
    run = folder / "run_ascend_pt"
    write_info(run)
    kernel_csv(run, [KERNEL])
    write_csv(run, "static_op_mem.csv", HEADER, ROWS)
    with viewing(folder / "cache", run) as url:
        yield url


PEAK = "Operators that hold the peak"
NODES = "Operators and the nodes during which they hold memory"


def names_are(found: Any, table: str, *names: str) -> None:
    rows = found.page.get_by_role("table", name=table).locator("tbody tr")
    expect(rows.locator("td:first-child")).to_have_text(names)


def test_the_peak_its_owners_and_what_the_compiler_states_are_shown(chromium: Any, compiled: str) -> None:
    with visited(chromium, compiled, "#/memory") as found:
        found.page.get_by_text("Peak 76.0 KiB at node 2 of 3. The compiler states 128 KiB").wait_for()

        names_are(found, PEAK, "weights", "conv", "<b>add</b>")
        assert not found.errors


def test_operators_follow_the_range_of_nodes(chromium: Any, compiled: str) -> None:
    with visited(chromium, compiled, "#/memory?from_node=3&to_node=3") as found:
        names_are(found, NODES, "weights", "<b>add</b>")

        found.page.get_by_role("button", name="Whole graph").click()
        names_are(found, NODES, "weights", "conv", "<b>add</b>")


def test_another_graph_is_chosen_by_keys(chromium: Any, compiled: str) -> None:
    with visited(chromium, compiled, "#/memory") as found:
        choice = found.page.get_by_role("combobox", name="Graph")
        choice.wait_for()
        choice.focus()
        found.page.keyboard.press("ArrowDown")

        found.page.get_by_text("Peak 2.00 KiB at node 0 of 1.").wait_for()
        names_are(found, PEAK, "tiny")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_stands_in_the_way_of_a_screen_reader(
    chromium: Any, axe: str, compiled: str, scheme: str
) -> None:
    with visited(chromium, compiled, "#/memory", color_scheme=scheme, bypass_csp=True) as found:
        names_are(found, PEAK, "weights", "conv", "<b>add</b>")
        found.page.evaluate(axe)
        told = found.page.evaluate("async () => (await axe.run(document)).violations")

    assert [one["id"] for one in told if one["impact"] in ("serious", "critical")] == []
