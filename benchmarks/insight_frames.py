"""Frames of the timeline per second while it moves, in a headless Chromium without a graphics processor.

python -m benchmarks.insight_frames [--slices 1e7] [--folder build/viewport]

The run is that of `benchmarks.viewport`. A frame is one drawing of the lanes; browser and server share the machine. On
busy machines frames per second tell mostly about others; CPU time per frame, of all processes of the browser, less so.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from ascend_sn.model.manifest import MANIFEST_NAME
from benchmarks.viewport import build, write

SECONDS = 5
SIZE = {"width": 1600, "height": 1000}
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

SAMPLE = """
    () => new Promise(done => {
      const taken = [], began = performance.now();
      let frames = window.__ascendSn.timeline().frames, last = began, longest = 0;
      const first = frames;
      const look = now => {
        const told = window.__ascendSn.timeline();
        if (told.frames !== frames) {
          frames = told.frames;
          taken.push(told.lastDrawMs);
          longest = Math.max(longest, now - last);
          last = now;
        }
        if (performance.now() - began < 1000 * SECONDS) requestAnimationFrame(look);
        else done({frames: frames - first, seconds: (performance.now() - began) / 1000, taken, longest,
                   rects: told.rects, length: told.span.to - told.span.from});
      };
      requestAnimationFrame(look);
    })
""".replace("SECONDS", str(SECONDS))

IDLE = "() => { const now = window.__ascendSn?.timeline?.(); return !!now && now.frames > 0 && !now.busy; }"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=float, default=1e7)
    parser.add_argument("--folder", type=Path, default=Path("build/viewport"))
    given = parser.parse_args()
    slices = int(given.slices)
    run, cache = given.folder / f"run-{slices}", given.folder / f"cache-{slices}"
    if not (run / MANIFEST_NAME).is_file():
        write(run, slices)
    build(run, cache)
    with served(run, cache) as url:
        measure(url, slices)


@contextmanager
def served(run: Path, cache: Path) -> Iterator[str]:
    """Serve a run in a process of its own; yields the address with the token."""
    words = ["view", str(run), "--no-browser", "--format", "json", "--cache-dir", str(cache)]
    with subprocess.Popen(
        [sys.executable, "-m", "ascend_sn.cli.main", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.terminate()


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the Chromium of the machine without a window."""
    from playwright.sync_api import sync_playwright

    program = next((found for found in map(shutil.which, PROGRAMS) if found), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def measure(url: str, slices: int) -> None:
    with chromium() as browser:
        page = browser.new_page(viewport=SIZE)
        page.goto(url)
        page.wait_for_function("() => window.__ascendSn?.session?.()?.runs.every(run => run.state === 'ready')")
        page.evaluate("() => { location.hash = '#/timeline' }")
        page.wait_for_function(IDLE)
        print(f"{slices / 1e6:.0f} M slices, {SIZE['width']} x {SIZE['height']} pixels, {SECONDS} s each\n")
        print("| motion | window at the end | rectangles | frames/s | draw ms | p95 | longest ms | CPU ms a frame |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        box = page.locator("#tl-canvas").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 200)
        for name, key, start in (
            ("zoom in from everything, key held", "w", None),
            ("pan a tenth of it, key held", "d", 0.1),
            ("pan a thousandth of it, key held", "d", 1e-3),
            ("pan a millionth of it, key held", "d", 1e-6),
            ("zoom out from a millionth, key held", "s", 1e-6),
        ):
            place(page, start)
            page.keyboard.down(key)
            before = browser_cpu()
            told = page.evaluate(SAMPLE)
            page.keyboard.up(key)
            row(name, told, browser_cpu() - before)


def place(page: Any, share: float | None) -> None:
    """Show a part of the capture in its middle, or all of it."""
    page.keyboard.press("0")
    page.wait_for_function(IDLE)
    page.wait_for_function("() => !location.hash.includes('t=')")  # the same address again would change nothing
    if share is None:
        return
    span = page.evaluate("() => window.__ascendSn.timeline().span")
    half, middle = (span["to"] - span["from"]) * share / 2, (span["to"] + span["from"]) / 2
    page.evaluate("place => { location.hash = place }", f"#/timeline?t={middle - half:.3f}:{middle + half:.3f}")
    page.wait_for_function(
        "length => { const {from, to} = window.__ascendSn.timeline().span; return Math.abs(to - from - length) < 1; }",
        arg=2 * half,
    )
    page.wait_for_function(IDLE)


def browser_cpu() -> float:
    """CPU seconds of the processes of the browser so far."""
    found = (child for child in psutil.Process().children(recursive=True) if "chrom" in child.name())
    return sum(times.user + times.system for times in (child.cpu_times() for child in found))


def row(name: str, told: dict[str, Any], cpu: float) -> None:
    taken = sorted(told["taken"]) or [0.0]
    p95 = taken[min(len(taken) - 1, int(len(taken) * 0.95))]
    print(
        f"| {name} | {told['length'] / 1e6:.3g} ms | {told['rects']} | {told['frames'] / told['seconds']:.0f} | "
        f"{median(taken):.1f} | {p95:.1f} | {told['longest']:.0f} | {1000 * cpu / max(told['frames'], 1):.0f} |"
    )


if __name__ == "__main__":
    main()
