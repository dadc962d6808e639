"""What ascend-sn keeps on disk itself, made small and sound: each kind of file, and how one is asked for what it holds.

A file that is kept and is of no kind here fails the tests, as does a kind of which no file is made.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from ascend_sn.errors import AscendSnError
from fuzz.corpus import RUN, torch_npu_text

__all__ = ["KINDS", "Kind", "World", "kept_files", "kind_of", "make_world"]

_SETTINGS: Final = """\
[gate]
strict = true
metrics = ["step_time", "peak_memory"]

[gate.limits]
step_time = 12.5
peak_memory = 4

[history]
series = "nightly"
runs = 12

[notify]
on = ["failed"]
language = "en"

[advisor]
worth_from_ratio = 0.02
"""
_MARKS: Final = [
    {"id": "1", "from": 10.0, "to": 90.0, "name": "warm-up", "colour": "#0072b2"},
    {"id": "2", "from": 120.0, "to": None, "name": "spike", "colour": "#d55e00"},
]

_PAGES: Final = ("tracks", "names?prefix=a", "steps", "tables/kernels", "tables/operators")


class World(msgspec.Struct, frozen=True):
    """Everything that lies below one folder: an input, the cache of it, a run folder, a history, settings."""

    top: Path

    @property
    def input(self) -> Path:
        """Two captures."""
        return self.top / "in"

    @property
    def kept(self) -> Path:
        """Whatever ascend-sn keeps lies below."""
        return self.top / "kept"

    @property
    def cache(self) -> Path:
        """The cache."""
        return self.kept / "cache"

    @property
    def own(self) -> Path:
        """A run folder of the user's."""
        return self.kept / "own"

    @property
    def shards(self) -> Path:
        """A folder of shards."""
        return self.kept / "shards"

    @property
    def history(self) -> Path:
        """A history of three runs."""
        return self.kept / "history.db"


class Kind(msgspec.Struct, frozen=True):
    """A kind of file.

    Attributes:
        patterns: What the names of such files look like, below `World.kept`.
        ask: Returns what is shown of them.
        is_summed: Whether every changed byte is noticed; else only what makes no sense in its place.
        may_lack: Whether what cannot be read is left out: nothing is shown in its place.
        is_free: Whether people write it, so that whatever can be understood is meant.
    """

    patterns: tuple[str, ...]
    ask: Callable[[World], Any]
    is_summed: bool = False
    may_lack: bool = False
    is_free: bool = False


def make_world(top: Path) -> World:
    """Make everything, as commands and the page do."""
    from ascend_sn.store.calibration import CALIBRATION_VERSION, Outcome, log_outcomes

    world = World(top)
    for rank in range(2):
        folder = torch_npu_text(world.input).rename(world.input / RUN.replace("41000", f"4100{rank + 1}"))
        (info,) = folder.glob("profiler_info*.json")
        told = json.loads(info.read_text())
        info.unlink()
        (folder / f"profiler_info_{rank}.json").write_text(json.dumps({**told, "rank_id": rank}))
    for path in [*world.input.rglob("*"), world.input]:
        os.utime(path, (1_700_000_000, 1_700_000_000))  # an input that just changed is not remembered
    world.kept.mkdir()
    (world.kept / "ascend-sn.toml").write_text(_SETTINGS)
    outcome = Outcome(
        version=CALIBRATION_VERSION, logged_ns=1, rule="R-COMM-1", change="c", confidence="high", low_ns=1,
        expected_ns=2, high_ns=3, real_ns=2, base_ns=9, baseline="a", candidate="b",
    )  # fmt: skip
    log_outcomes([outcome, msgspec.structs.replace(outcome, real_ns=3)], cache_dir=world.cache)
    _ingest(world)
    _record(world)
    _set_marks(world)
    for kind in KINDS.values():
        kind.ask(world)
    return world


def kept_files(world: World) -> list[str]:
    """Return the names of all files that are kept, but for locks, which hold nothing."""
    files = (path for path in world.kept.rglob("*") if path.is_file() and path.suffix != ".lock")
    return sorted(path.relative_to(world.kept).as_posix() for path in files)


def kind_of(name: str) -> list[str]:
    """Return the kinds that a name fits."""
    return [kind for kind, found in KINDS.items() if any(fnmatch(name, pattern) for pattern in found.patterns)]


def _ingest(world: World) -> None:
    from click.testing import CliRunner

    from ascend_sn.cli.ingest import ingest
    from ascend_sn.report.words.language import Language

    for words in (
        ["--output", str(world.own)],
        *(["--output", str(world.shards), "--shard", f"{part}/2"] for part in range(2)),
    ):
        given = [str(world.input), "--cache-dir", str(world.cache), *words]
        done = CliRunner().invoke(ingest, given, obj=Language.load("en"))
        assert done.exit_code == 0, (done.output, done.exception)


def _record(world: World) -> None:
    from ascend_sn.compare.history.store import History

    (figures,) = _measured(world)
    with History(str(world.history)) as history:
        for number in range(3):
            one = msgspec.structs.replace(figures, start_ns=number, name=f"run {number}")
            history.add(one, series="nightly", now_ns=1_000 + number, revision=f"{number:040x}", pinned=number == 1)


def _measured(world: World) -> list[Any]:
    from ascend_sn.cli.comparing import measured_side
    from ascend_sn.report.words.language import Language

    figures = measured_side([world.input], Language.load("en"), cache_dir=world.cache).figures
    return figures[:1]


def _run(world: World, path: Path) -> Any:
    """Every row of every table of a run."""
    from ascend_sn.model.tables import BY_NAME
    from ascend_sn.store import open_run

    with open_run(path, cache_dir=world.cache) as run:
        rows = {name: run.db.execute(f"select * from {name}").fetchall() for name in BY_NAME}
        lost = [one.reason for one in run.manifest.lost]
    return {name: sorted(map(repr, found)) for name, found in rows.items() if found}, lost


def _cached_run(world: World) -> Any:
    return _run(world, world.input)


def _own_run(world: World) -> Any:
    return _run(world, world.own)


def _shards(world: World) -> Any:
    return _run(world, world.shards)


def _timeline(world: World, path: Path) -> Any:
    """What the page draws: every array of every profile, the names, the tracks."""
    from ascend_sn.insight.class_lanes import class_lanes
    from ascend_sn.store import Run, locate
    from ascend_sn.store.timeline import timeline_of

    location = locate(path, cache_dir=world.cache)
    with Run(location.folder, location.input) as run:
        files = timeline_of(run, location, class_lanes=class_lanes, cache_dir=world.cache)
    drawn = {}
    for profile_id in files.profiles:
        arrays = files.arrays(profile_id)
        held = {name: np.ascontiguousarray(getattr(arrays, name)) for name in arrays.__dataclass_fields__}
        drawn[profile_id] = {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in held.items()}
    names = files.names(0, files.meta.name_count)
    return drawn, names, msgspec.to_builtins(files.meta.profiles), files.meta.kinds


def _cached_timeline(world: World) -> Any:
    return _timeline(world, world.input)


def _own_timeline(world: World) -> Any:
    return _timeline(world, world.own)


def _document(world: World) -> Any:
    from ascend_sn.cli.opening import document_of
    from ascend_sn.report.words.language import Language
    from ascend_sn.store.input import Input

    return msgspec.to_builtins(document_of(Input.of(world.input), Language.load("en"), cache_dir=world.cache))


def _figures(world: World) -> Any:
    return msgspec.to_builtins(_measured(world))


def _predictions(world: World) -> Any:
    from ascend_sn.store import locate
    from ascend_sn.store.predictions import kept_predictions

    location = locate(world.input, cache_dir=world.cache)
    found = kept_predictions(location, cache_dir=world.cache)
    return None if found is None else {**msgspec.to_builtins(found), "made_ns": 0}


def _calibration(world: World) -> Any:
    from ascend_sn.store.calibration import logged_outcomes

    return msgspec.to_builtins(logged_outcomes(cache_dir=world.cache))


def _cached_summaries(world: World) -> Any:
    return _summaries(world, world.input)


def _own_summaries(world: World) -> Any:
    return _summaries(world, world.own)


def _summaries(world: World, path: Path) -> Any:
    from ascend_sn.analysis.summaries import open_summaries
    from ascend_sn.store import locate
    from ascend_sn.store.mapping import in_turn

    with open_summaries(locate(path, cache_dir=world.cache), mapping=in_turn, cache_dir=world.cache) as run:
        shown = [name for (name,) in run.db.execute("select table_name from duckdb_tables()").fetchall()]
        return {name: sorted(map(repr, run.db.execute(f'select * from "{name}"').fetchall())) for name in sorted(shown)}


class RefusedError(AscendSnError):
    """The page refused to answer."""


@contextmanager
def _page(world: World, *, redact: bool = False) -> Iterator[Any]:
    from starlette.testclient import TestClient

    from ascend_sn.insight.app import application
    from ascend_sn.insight.runs import Served
    from ascend_sn.insight.stand_ins import StandIns
    from ascend_sn.store.input import Input
    from tests.unit.insight.drawn_runs import NoDocuments

    named = [Input.of(world.input)]
    served = Served(named, NoDocuments(), cache_dir=world.cache, stand_ins=StandIns(named) if redact else None)
    try:
        for run in served.runs:
            run.read()
        with TestClient(application(served, pages=[])) as http:
            yield http
    finally:
        served.close()


def _answered(response: Any) -> Any:
    told = response.json()
    if response.status_code == 200:
        return told
    if "internal" in told["error"]["message"]:
        raise AssertionError(told)
    raise RefusedError(told["error"]["message"])


def _set_marks(world: World) -> None:
    with _page(world) as http:
        assert http.put("/api/v1/runs/a/marks", json=_MARKS).status_code == 200


def _marks(world: World) -> Any:
    with _page(world) as http:
        return _answered(http.get("/api/v1/runs/a/marks"))


def _redacted(world: World) -> Any:
    with _page(world, redact=True) as http:
        return [_answered(http.get(f"/api/v1/runs/a/{name}")) for name in _PAGES]


def _history(world: World) -> Any:
    from ascend_sn.compare.history.baseline import baseline_of
    from ascend_sn.compare.history.store import History

    with History(str(world.history)) as history:
        records = history.records()
        figures = history.figures(records)
        series, identities = history.series(), history.identities(records)
        chosen = baseline_of(history, [], series="nightly", runs=5)
    return msgspec.to_builtins([records, figures]), series, identities, msgspec.to_builtins(list(chosen))


def _settings(world: World) -> Any:
    from ascend_sn.advisor.thresholds import Thresholds
    from ascend_sn.compare.history.baseline import HistorySettings
    from ascend_sn.compare.notify import NotifySettings
    from ascend_sn.compare.settings import GateSettings

    gate, history = GateSettings.in_force(world.kept), HistorySettings.in_force(world.kept)
    notify, advisor = NotifySettings.in_force(world.kept), Thresholds.in_force(world.kept)
    return repr((gate.limits, sorted(gate.declared), gate.strict, history, sorted(notify.on), advisor.tables()))


KINDS: Final[Mapping[str, Kind]] = {
    "manifest": Kind(("cache/runs/*/manifest.json",), _cached_run),
    "table": Kind(("cache/runs/*/profile=*/part-*.parquet",), _cached_run, is_summed=True),
    "timeline": Kind(("cache/runs/*/timeline/*",), _cached_timeline, is_summed=True),
    "document": Kind(("cache/runs/*/results/analyze-*.json",), _document, is_summed=True),
    "figures": Kind(("cache/runs/*/results/figures-*.json",), _figures, is_summed=True),
    "predictions": Kind(("cache/runs/*/results/predictions-*.json",), _predictions, may_lack=True),
    "summaries": Kind(("cache/runs/*/summaries/*",), _cached_summaries, is_summed=True),
    "calibration": Kind(("cache/predictions/calibration.jsonl",), _calibration, may_lack=True),
    "known input": Kind(("cache/inputs/*.json",), _cached_run),
    "marks": Kind(("cache/marks/*.json",), _marks),
    "stand-ins": Kind(("cache/redacted/*/stand_ins.json",), _redacted),
    "run with stand-ins": Kind(("cache/redacted/*/run/*",), _redacted, is_summed=True),
    "own manifest": Kind(("own/manifest.json",), _own_run),
    "own table": Kind(("own/*/profile=*/part-*.parquet",), _own_run, is_summed=True),
    "own timeline": Kind(("own/timeline/*",), _own_timeline, is_summed=True),
    "own summaries": Kind(("cache/beside/*",), _own_summaries, is_summed=True),
    "shard": Kind(("shards/shard-*",), _shards),
    "history": Kind(("history.db",), _history),
    "settings": Kind(("ascend-sn.toml",), _settings, is_free=True),
}
"""Kinds of kept files by what they hold."""
