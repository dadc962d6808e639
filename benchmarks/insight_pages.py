"""Time until each page of the web page is there: opened anew, nothing of its first screen left to come.

python -m benchmarks.insight_pages RUN [--cache-dir DIR] [--rounds 3]

RUN is any input of `ascend-sn view`; a job of many ranks comes from `python -m benchmarks.simulated_cluster`. The first
opening of all, in which the document of the run is made where the cache has none, is told apart. Each time is from the
start of the navigation, server and browser on one machine; cookie and scripts are kept by the browser as in a second
tab.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from benchmarks.insight_frames import SIZE, chromium, served
from scripts.page_pictures import PLACES

SETTLED_MS = 300
"""A page is there when nothing was left to come for so long; it was there when that time began."""

PATIENCE_MS = 600_000

WATCH = """
    window.__settled = null;
    window.__longest = 0;
    new PerformanceObserver(list => {
      for (const task of list.getEntries()) window.__longest = Math.max(window.__longest, task.duration);
    }).observe({type: 'longtask', buffered: true});
    let since = null;
    const inSight = one => {
      const box = one.getBoundingClientRect();
      return box.top < innerHeight && box.bottom >= 0 && !one.closest('details:not([open])');
    };
    const look = () => {
      const drawn = window.__ascendSn?.timeline?.();
      const left = [...document.querySelectorAll('.pending, .table-place, .loading, [aria-busy=true]')].filter(inSight);
      const isThere = document.querySelector('main h1, main h2, main canvas') && left.length === 0
        && (!location.hash.startsWith('#/timeline') || (drawn && drawn.frames > 0 && !drawn.busy));
      since = isThere ? since ?? performance.now() : null;
      if (since !== null && performance.now() - since >= SETTLED) window.__settled = since;
      else setTimeout(look, 10);
    };
    addEventListener('DOMContentLoaded', look);
""".replace("SETTLED", str(SETTLED_MS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--cache-dir", type=Path, help="default: a new one, so that everything is made")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, served(given.run, given.cache_dir or Path(folder)) as url:
        measure(url, given.rounds)


def measure(url: str, rounds: int) -> None:
    parts = urlsplit(url)
    with chromium() as browser:
        context = browser.new_context(viewport=SIZE)
        context.add_init_script(WATCH)
        page = context.new_page()
        began = time.perf_counter()
        page.goto(url)
        page.wait_for_function(
            "() => window.__ascendSn?.session?.()?.runs.every(run => run.state === 'ready')", timeout=PATIENCE_MS
        )
        page.evaluate("() => { location.hash = '#/findings' }")  # needs the whole document
        page.wait_for_function(
            "() => document.querySelector('main h2, main h3') && !document.querySelector('.pending')",
            timeout=PATIENCE_MS,
        )
        print(f"all of it made and shown: {time.perf_counter() - began:.1f} s\n")
        print(f"| page | there after ms, median of {rounds} | longest ms | longest task ms |")
        print("|---|---:|---:|---:|")
        for name, place in PLACES.items():
            taken = [_visit(context, f"{parts.scheme}://{parts.netloc}/{place}") for _ in range(rounds)]
            times = [settled for settled, _ in taken]
            print(
                f"| {name} | {median(times):.0f} | {max(times):.0f} | {max(longest for _, longest in taken):.0f} |",
                flush=True,
            )


def _visit(context: Any, url: str) -> tuple[float, float]:
    page = context.new_page()
    page.goto(url)
    page.wait_for_function("() => window.__settled !== null", timeout=PATIENCE_MS)
    settled, longest = page.evaluate("() => [window.__settled, window.__longest]")
    page.close()
    return float(settled), float(longest)


if __name__ == "__main__":
    main()
