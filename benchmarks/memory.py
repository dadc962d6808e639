"""How memory grows with the input: ingest and analyze of the field case of large traces at several sizes.

    python -m benchmarks.memory [MEGABYTES ...] [--kind case] [--folder DIR]

The default sizes are those of the case, the last one beyond 2^31 bytes; the stages are those of `ingest`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.ingest import KINDS, exactness, measure, write_trace
from tests.shared_data import shared_root

SIZES: Final = (50.0, 500.0, 2_200.0)


def main() -> None:
    options = argparse.ArgumentParser(description="Memory beside the size of the file.")
    options.add_argument("megabytes", nargs="*", type=float, default=SIZES)
    options.add_argument("--kind", choices=KINDS, default="case")
    options.add_argument("--folder", type=Path, help="where the scratch folder is made")
    chosen = options.parse_args()
    kind = chosen.kind if chosen.kind != "case" or shared_root() is not None else "kineto"
    print(f"| {kind} | ingest peak MB | peak/file | analyze peak MB | peak/file | analyze CPU s | |")
    print("|---:|---:|---:|---:|---:|---:|---|")
    for megabytes in chosen.megabytes:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            path = Path(folder) / f"{kind}_trace.json"
            truth = write_trace(kind, path, int(megabytes * 1e6))
            size = path.stat().st_size
            costs = measure(kind, path, ("ingest", "analyze"), 1)
            ingest, analyze = costs["ingest"], costs["analyze"]
            print(
                f"| {size / 1e6:.0f} MB | {ingest.peak_bytes / 1e6:.0f} | {ingest.peak_bytes / size:.2f} "
                f"| {analyze.peak_bytes / 1e6:.0f} | {analyze.peak_bytes / size:.2f} | {analyze.cpu_s:.1f} "
                f"| {exactness(ingest.said, truth)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
