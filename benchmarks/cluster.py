"""What a rank costs in a job of ten, a hundred, a thousand ranks; and a comparison of ten thousand.

    python -m benchmarks.cluster [RANKS ...] [--compare RANKS] [--folder DIR]

A simulated job with a rank whose compute takes a tenth longer and a rank whose links are three times slower is read,
summarised and analysed, each in a process of its own that does all the work itself; CPU seconds count.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.measured import ROOT, run_measured

if TYPE_CHECKING:
    from ascend_sn.store import Run

SIZES: Final = (16, 128, 1024)
COMPARED: Final = 10_000
PATTERN: Final = 80
"""Ranks that are simulated for the comparison; their summaries are laid side by side, whole ones only."""

TENSOR: Final = 4
STAGES: Final = 2

_MANY_ROWS: Final = 10_000_000

_INGEST: Final = """
import json, sys
from pathlib import Path
from ascend_sn.analysis.summaries import summarise
from ascend_sn.store import locate
from ascend_sn.store.mapping import in_turn
from ascend_sn.store.summaries import summaries_of
source, cache = map(Path, sys.argv[1:3])
location = locate(source, cache_dir=cache)
summaries = summaries_of(location, summarise, mapping=in_turn, cache_dir=cache)
size = sum(path.stat().st_size for path in summaries.folder.glob("*.parquet"))
print(json.dumps({"rows": summaries.row_count, "bytes": size}))
"""

_ANALYZE: Final = """
import json, sys
from pathlib import Path
from ascend_sn.report.assemble.run import assemble, opened_for
from ascend_sn.report.words.language import Language
from ascend_sn.report.documents.views import Selection
from ascend_sn.store import locate
source, cache = map(Path, sys.argv[1:3])
location = locate(source, cache_dir=cache)
with opened_for(location, cache_dir=cache) as run:
    cluster = assemble(run, Language.load("en"), Selection(details=frozenset())).cluster
slow = {}
for link in cluster.slow_links:
    for rank in (link.src_rank, link.dst_rank):
        slow[rank] = slow.get(rank, 0) + 1
print(json.dumps({
    "straggler": cluster.worst[0].rank if cluster.worst[0].is_straggler else None,
    "cause": cluster.worst[0].cause,
    "stragglers": cluster.straggler_count,
    "slow": max(slow, key=slow.get, default=None),
}))
"""

_COMPARE: Final = """
import json, sys, time
from pathlib import Path
from ascend_sn.compare.comparison import compared
from ascend_sn.compare.measure import figures_of
from ascend_sn.compare.settings import GateSettings
from ascend_sn.store import Run
from ascend_sn.store.input import Input
from benchmarks.cluster import opened
sides = [Path(path) for path in sys.argv[1:3]]
begin = time.process_time()
figures = []
for side in sides:
    with opened(side) as run:
        figures.append(figures_of(run, side.name))
measured = time.process_time() - begin
comparison = compared(figures[:1], figures[1:], GateSettings.in_force(Path.cwd()).limits)
took = time.process_time() - begin
print(json.dumps({"measure_s": measured, "compare_s": took - measured, "ranks": figures[0].profile_count,
                  "verdict": comparison.verdict}))
"""


def main() -> None:
    options = argparse.ArgumentParser(description="What a rank costs, whatever the size of the job.")
    options.add_argument("ranks", nargs="*", type=int, default=SIZES)
    options.add_argument("--compare", type=int, default=COMPARED, help="ranks of the comparison; 0 leaves it out")
    options.add_argument("--folder", type=Path, help="where the scratch folder is made")
    chosen = options.parse_args()
    print("| ranks | read and summarise: CPU s | ms per rank | peak MB | summaries, KB per rank "
          "| analyze: CPU s | peak MB | straggler | slow link |")  # fmt: skip
    print("|---:|---:|---:|---:|---:|---:|---:|---|---|")
    for ranks in chosen.ranks:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            print(_row(ranks, Path(folder)), flush=True)
    if chosen.compare:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
            print(_comparison(chosen.compare, Path(folder)))


def _row(ranks: int, folder: Path) -> str:
    slow, late = ranks // 3, ranks // 2 + 1
    simulated(folder / "job", ranks, f"slow-rank:{slow}:1.1", f"slow-link:{late}:3")
    words = (str(folder / "job"), str(folder / "cache"))
    read = run_measured([sys.executable, "-c", _INGEST, *words])
    seen = run_measured([sys.executable, "-c", _ANALYZE, *words])
    found = seen.said
    straggler = f"rank {slow} by {found['cause']}" if found["straggler"] == slow else f"not found ({found})"
    link = f"rank {late}" if found["slow"] == late else f"not found ({found['slow']})"
    return (
        f"| {ranks:,} | {read.cpu_s:.1f} | {1e3 * read.cpu_s / ranks:.0f} | {read.peak_bytes / 1e6:.0f} "
        f"| {read.said['bytes'] / 1e3 / ranks:.1f} | {seen.cpu_s:.1f} | {seen.peak_bytes / 1e6:.0f} "
        f"| {straggler} | {link} |"
    )


def _comparison(ranks: int, folder: Path) -> str:
    sides = []
    for name, fault in (("baseline", ""), ("candidate", f"slow-rank:{PATTERN // 3}:1.3")):
        simulated(folder / name, PATTERN, *([fault] if fault else []))
        run_measured([sys.executable, "-c", _INGEST, str(folder / name), str(folder / "cache" / name)])
        (made,) = (folder / "cache" / name / "runs").glob("*/summaries/*")
        sides.append(multiplied(made, folder / f"{name}-many", ranks))
    said = run_measured([sys.executable, "-c", _COMPARE, *map(str, sides)]).said
    return (
        f"\n{said['ranks']:,} ranks against {said['ranks']:,}: figures of both from the summaries "
        f"{said['measure_s']:.2f} CPU s, comparison {said['compare_s']:.2f} CPU s ({said['verdict']})"
    )


def simulated(folder: Path, ranks: int, *faults: str) -> None:
    """Write a job of so many ranks."""
    words = ["--tp", TENSOR, "--pp", STAGES, "--dp", ranks // TENSOR // STAGES]
    words += [word for fault in faults for word in ("--fault", fault)]
    command = [sys.executable, "-m", "benchmarks.simulated_cluster", str(folder), *map(str, words)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def multiplied(made: Path, folder: Path, ranks: int) -> Path:
    """Lay the summaries of one job side by side until there are so many ranks, as one job of many pipelines."""
    import duckdb
    import msgspec

    from ascend_sn.model.manifest import MANIFEST_NAME
    from ascend_sn.store.upgrade import load_manifest

    folder.mkdir(parents=True)
    manifest = load_manifest(made.parent.parent)
    few = len(manifest.profiles)
    copies = ranks // few
    if ranks % few:  # a row of the summaries may stand for several profiles
        raise ValueError(f"{ranks} ranks are no multiple of {few}")
    profiles = [
        msgspec.structs.replace(one, profile_id=one.profile_id + copy * few, rank=(one.rank or 0) + copy * few)
        for copy in range(copies)
        for one in manifest.profiles
    ]
    files = [
        msgspec.structs.replace(one, path=f"{copy}/{one.path}") for copy in range(copies) for one in manifest.files
    ]
    sources = msgspec.Raw(msgspec.json.encode(files))
    many = msgspec.structs.replace(manifest, profiles=profiles, sources=sources)
    (folder / MANIFEST_NAME).write_bytes(msgspec.json.encode(many))
    db = duckdb.connect()
    for source in sorted(made.glob("*.parquet")):
        target = folder / source.name
        columns = [row[0] for row in db.execute(f"describe select * from read_parquet('{source}')").fetchall()]
        changed = {name: f"{name} + copy * {few}" for name in ("profile_id", "rank", "member_rank")}
        changed["group_id"] = "group_id || '-' || copy"
        replaced = ", ".join(f"{changed[column]} as {column}" for column in columns if column in changed)
        db.execute(f"""
            copy (
                select * exclude (copy) replace ({replaced})
                from read_parquet('{source}'), (select unnest(range({copies})) as copy) copies
                order by profile_id
            ) to '{target}' (format parquet, compression zstd, parquet_version v2)
        """)
    return folder


def opened(folder: Path) -> Run:
    """Open what `multiplied` made."""
    from ascend_sn.store import Run
    from ascend_sn.store.input import Input
    from ascend_sn.store.summaries import Summaries

    names = sorted(path.stem for path in folder.glob("*.parquet"))
    return Run(folder, Input.of(folder), summaries=Summaries(folder, names, _MANY_ROWS, []))


if __name__ == "__main__":
    main()
