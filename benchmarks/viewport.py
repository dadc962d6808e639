"""The server of the web page over 100 million slices: viewports over HTTP, first page, search, memory.

python -m benchmarks.viewport [--slices 1e8] [--folder build/viewport]

The run is synthetic: three fifths are kernels on four streams, the rest operators nested four deep on two threads. It
is made once, as Parquet, and read by the same code as any run.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import msgspec
import numpy as np
import psutil

from ascend_sn.model.manifest import MANIFEST_NAME, RUN_FORMAT, RUN_VERSION, Manifest, ManifestProfile
from ascend_sn.model.tables import BY_NAME

REQUESTS = 300
SHARES = (1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
PIXELS = 1200

KERNELS = """
    select null::integer as rank, i::bigint as kernel_id, 0 as device_id, (i % 4)::varchar as stream,
           'kernel_' || (hash(i) % 400) as name, 'MatMul' as op_type,
           case when i % 16 = 3 then 'communication' when i % 16 = 7 then 'copy' else 'compute' end as kind,
           1700000000000000000 + (i // 4) * 1000 + (hash(i) % 300)::bigint as ts_ns,
           (200 + hash(i + 7) % 500)::bigint as dur_ns, (i // 100000)::integer as step_id
    from range({first}, {past}) as made(i)
"""
OPERATORS = """
    select null::integer as rank, i::bigint as operator_id, (i // 4 % 2)::varchar as thread,
           'aten::operator_' || (hash(i) % 600) as name,
           1700000000000000000 + (i // 8) * 3000 + (i % 4) * 100 + (hash(i // 8) % 90)::bigint as ts_ns,
           (2500 - 300 * (i % 4))::bigint as dur_ns, (i % 4)::integer as depth, 'forward' as phase
    from range({first}, {past}) as made(i)
"""
STEPS = """
    select null::integer as rank, i::integer as step_id, i::bigint as step, 0 as session, 'mark' as origin,
           1700000000000000000 + i * 25000000 as ts_ns, 25000000::bigint as dur_ns
    from range({first}, {past}) as made(i)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=float, default=1e8)
    parser.add_argument("--folder", type=Path, default=Path("build/viewport"))
    parser.add_argument("--build", type=Path, nargs=2, metavar=("RUN", "CACHE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.build:
        print(json.dumps(built(*given.build)))
        return
    slices = int(given.slices)
    run = given.folder / f"run-{slices}"
    if not (run / MANIFEST_NAME).is_file():
        write(run, slices)
    cache = given.folder / f"cache-{slices}"
    print(f"{slices / 1e6:.0f} M slices, {PIXELS} pixels, {REQUESTS} requests a line, over HTTP on the loopback\n")
    made = build(run, cache)
    if made:
        print(
            f"timeline of {made['slices'] / 1e6:.1f} M slices built in {made['wall']:.0f} s ({made['cpu']:.0f} CPU s, "
            f"peak {made['peak'] / 1e9:.1f} GB): {made['bytes'] / 1e9:.2f} GB, "
            f"{made['bytes'] / made['slices']:.1f} bytes a slice\n"
        )
    with Server(run, cache) as server:
        server.measure()


def write(run: Path, slices: int) -> None:
    """Write the tables as a run folder."""
    kernels, operators = slices * 3 // 5, slices * 2 // 5 // 8 * 8
    steps = max(1, kernels // 100_000)
    db = duckdb.connect()
    rows = {"kernel": kernels, "operator": operators, "step": steps}
    for table, query in (("kernel", KERNELS), ("operator", OPERATORS), ("step", STEPS)):
        place = run / table / "profile=0"
        place.mkdir(parents=True, exist_ok=True)
        columns = BY_NAME[table].columns[1:]
        made = {str(name) for (name, *_) in db.execute(f"describe {query.format(first=0, past=1)}").fetchall()}
        chosen = ", ".join(
            one.name if one.name in made else f"null::{one.duckdb_type} as {one.name}" for one in columns
        )
        inner = query.format(first=0, past=rows[table])
        how = "format parquet, compression zstd, parquet_version v2"
        db.execute(f"copy (select {chosen} from ({inner})) to '{place / 'part-0.parquet'}' ({how})")
    place = run / "profile" / "profile=0"
    place.mkdir(parents=True, exist_ok=True)
    typed = ", ".join(
        f"{value} as {one.name}" if (value := {"rank": "0", "source": "'made'", "device_kind": "'npu'"}.get(one.name))
        else f"null::{one.duckdb_type} as {one.name}"
        for one in BY_NAME["profile"].columns[1:]
    )  # fmt: skip
    db.execute(f"copy (select {typed}) to '{place / 'part-0.parquet'}' (format parquet)")
    profile = ManifestProfile(
        profile_id=0, rank=0, host=None, pid=None, start_ns=None, source="made", format="made", key="made",
        tables={**rows, "profile": 1}, device_kind="npu",
    )  # fmt: skip
    manifest = Manifest(
        format=RUN_FORMAT, version=RUN_VERSION, tool_version="0", reader_version=1, input="made", input_bytes=0,
        sources=msgspec.Raw(b"[]"), profiles=[profile], tables={name: profile.tables.get(name, 0) for name in BY_NAME},
    )  # fmt: skip
    (run / MANIFEST_NAME).write_bytes(msgspec.json.encode(manifest))


def build(run: Path, cache: Path) -> dict[str, Any] | None:
    """Build the timeline in a process of its own; None where it was there."""
    command = [sys.executable, "-m", "benchmarks.viewport", "--build", str(run), str(cache)]
    found: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found if found["built"] else None


def built(run: Path, cache: Path) -> dict[str, Any]:
    """Build the timeline here, and say what it took."""
    from ascend_sn.insight.class_lanes import class_lanes
    from ascend_sn.store import Run, locate
    from ascend_sn.store.timeline import timeline_of

    began = time.perf_counter()
    told: list[int] = []
    location = locate(run, cache_dir=cache)
    with Run(location.folder, location.input) as opened:
        files = timeline_of(
            opened,
            location,
            class_lanes=class_lanes,
            cache_dir=cache,
            progress=lambda done, total, name: told.append(done),
        )
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "built": bool(told),
        "wall": time.perf_counter() - began,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss * 1024,
        "slices": files.meta.slice_count,
        "bytes": sum(file.stat().st_size for file in files.folder.rglob("*") if file.is_file()),
    }


class Server:
    """`ascend-sn view` in a process of its own."""

    def __init__(self, run: Path, cache: Path) -> None:
        words = ["view", str(run), "--no-browser", "--format", "json", "--cache-dir", str(cache)]
        self._began = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ascend_sn.cli.main", *words],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        said = json.loads(self._process.stdout.readline())
        self._headers = {"Authorization": f"Bearer {said['url'].partition('token=')[2]}"}
        self._http = http.client.HTTPConnection("127.0.0.1", said["port"])

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def get(self, path: str) -> bytes:
        self._http.request("GET", f"/api/v1/{path}", headers=self._headers)
        answer = self._http.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        return content

    def _cpu_s(self) -> float:
        times = psutil.Process(self._process.pid).cpu_times()
        return float(times.user + times.system)

    def measure(self) -> None:
        while json.loads(self.get("session"))["runs"][0]["state"] == "reading":
            time.sleep(0.02)
        ready = time.perf_counter()
        tracks = json.loads(self.get("runs/a/tracks"))
        self.get("runs/a/names")
        length = tracks["profiles"][0]["dur_ns"]
        chosen = ",".join(str(track["track"]) for track in tracks["tracks"])
        self.get(f"runs/a/viewport?px={PIXELS}&q=0:0:{length}:{chosen}")
        print(
            f"first page: {time.perf_counter() - ready:.2f} s from an ingested run to the first viewport "
            f"({ready - self._began:.2f} s before that from the start of the process)\n"
        )
        depths = sum(track["depths"] for track in tracks["tracks"])
        lanes = f"{len(tracks['tracks'])} tracks, {depths} depths"
        print(f"| window, {lanes} | rows | kB | median ms | p95 ms | server CPU ms | reach |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        chance = random.Random(1)
        for share in SHARES:
            span = max(length * share, 1000.0)
            taken, rows, size, used = [], 0, 0, self._cpu_s()
            for _ in range(REQUESTS if share < 1 else 50):
                t0 = chance.uniform(0, length - span)
                began = time.perf_counter()
                content = self.get(f"runs/a/viewport?px={PIXELS}&q=0:{t0:.0f}:{t0 + span:.0f}:{chosen}")
                taken.append(1e3 * (time.perf_counter() - began))
                rows, size = max(rows, int(np.frombuffer(content, "<u4", 4)[3])), max(size, len(content))
            median, p95 = np.percentile(taken, [50, 95])
            cpu = 1e3 * (self._cpu_s() - used) / len(taken)
            print(f"| {span / 1e6:.3g} ms | {rows} | {size / 1e3:.0f} | {median:.2f} | {p95:.2f} | {cpu:.2f} | 10 |")
        print("\n| other requests | ms |\n|---|---:|")
        middle, near = length // 2, length // 1000
        for name, path in {
            "search for a name, first 200 hits of all": f"runs/a/search?text={quote('kernel_17')}&whole_word=1",
            "search for a name that is not there": "runs/a/search?text=nowhere",
            "statistics of a thousandth": f"runs/a/selection?q=0:{middle}:{middle + near}:{chosen}",
            "statistics of everything": f"runs/a/selection?q=0:0:{length}:{chosen}",
            "one slice": f"runs/a/slice?profile=0&track={tracks['tracks'][-1]['track']}&depth=0&slice=12345",
        }.items():
            taken = [timed(partial(self.get, path)) for _ in range(3)]
            print(f"| {name} | {sorted(taken)[1]:.0f} |")
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8").splitlines()
        held = {line.split(":")[0]: int(line.split()[1]) / 1e3 for line in status if line.startswith("Rss")}
        print(f"\nmemory of the server: {held['RssAnon']:.0f} MB of its own, {held['RssFile']:.0f} MB of mapped files")


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
