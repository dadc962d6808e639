"""The runs that a server shows: read in the background, then open for as many readers as there are."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeVar

import msgspec

from ascend_sn.analysis.opening import LOOKED_INTO_WHOLE, opened_for
from ascend_sn.cluster.choice import as_fits
from ascend_sn.errors import AscendSnError, StoreError, UsageError
from ascend_sn.insight.answers import ApiError
from ascend_sn.insight.class_lanes import class_lanes
from ascend_sn.insight.ranks import OneByOne, Part, show_across
from ascend_sn.insight.stand_ins import StandIns
from ascend_sn.store import Location, Run, locate
from ascend_sn.store.input import Input
from ascend_sn.store.jobs import jobs_of, newest_job
from ascend_sn.store.parquet import is_small
from ascend_sn.store.timeline import TIMELINE_FOLDER, add_timeline, timeline_of
from ascend_sn.store.timeline_files import ProfileMeta, TimelineFiles
from ascend_sn.store.upgrade import load_manifest

__all__ = ["Documents", "Note", "OpenRun", "RunState", "Served", "ServedRun", "distinct_names"]

_Found = TypeVar("_Found")

State = Literal["reading", "ready", "failed"]

Note = Callable[[int, int, str], None]
"""Takes note of what is done, of how much, and of what happens now."""

_MEMORY: Final = "2GB"
"""What queries of the page may hold at a time."""


class Documents(Protocol):
    """What the views above this one make of runs, and texts in a language; the command line hands it in.

    Paths are inputs as the user named them. Every method may take seconds.
    """

    def document(self, location: Location, code: str, job: str | None, progress: Note) -> bytes:
        """Return the document of a run that lies there, as JSON; `progress` is told which part of how many comes."""

    def comparison(self, baseline: Input, candidate: Input, code: str) -> bytes:
        """Return the document of a comparison, as JSON."""

    def history(self, place: str, code: str) -> bytes:
        """Return the document of a trend, as JSON."""

    def text(self, code: str, key: str, params: Mapping[str, object]) -> str:
        """Return a text of the catalogues."""


class Progress(msgspec.Struct, frozen=True):
    """How far reading is: `done` of `total` sources or profiles; both 0 where that is not known."""

    done: int
    total: int
    text: str


class RunState(msgspec.Struct, frozen=True):
    """What the page is told of a run while it is read, and after."""

    id: str
    name: str
    state: State
    progress: Progress | None
    error: str | None


class _StoppedError(Exception):
    """The server ends while a run is read."""


class OpenRun:
    """A run that is ready.

    Attributes:
        id: Its letter: `a`, `b`, in the order of the command line.
        location: What the user named, and where its tables lie.
        run: Its tables. They are the files of all profiles where the job is large.
        timeline: Its lanes.
        profiles: The profiles of the job that is shown, by id.
        job: Name of that job; None where there is one only.
        across: For questions about all profiles: `run`, or a large job by its summaries, some profiles in detail.
        one_by_one: The profiles of a large job, each opened alone; None where `across` is `run`.
    """

    def __init__(
        self,
        id: str,
        location: Location,
        run: Run,
        timeline: TimelineFiles,
        job: str | None,
        summed: Run | None = None,
    ) -> None:
        self.id = id
        self.location = location
        self.run = run
        self.timeline = timeline
        self.job = job
        self.across = Part(run if summed is None else summed)
        self.one_by_one = None if summed is None else OneByOne(run)
        show_across(self.across.run)
        self._naming = threading.Lock()
        self._working: dict[str, threading.RLock] = {}
        self._known: dict[str, Any] = {}
        shown = {profile.profile_id for profile in run.manifest.profiles if run.job in (None, profile.job)}
        self.profiles: dict[int, ProfileMeta] = {
            profile_id: profile for profile_id, profile in timeline.profiles.items() if profile_id in shown
        }

    def once(self, name: str, work_out: Callable[[], _Found]) -> _Found:
        """Return what `work_out` returns; it runs once for each name, and who asks for the same meanwhile waits."""
        with self._naming:
            working = self._working.setdefault(name, threading.RLock())
        with working:
            if name not in self._known:
                self._known[name] = work_out()
            found: _Found = self._known[name]
        return found

    @property
    def input(self) -> Input:
        """What the user named."""
        return self.location.input

    @property
    def origins(self) -> dict[int, int]:
        """Where the time of each profile begins in its own clock, ns: API times count from there."""
        return {profile_id: profile.origin_ns for profile_id, profile in self.profiles.items()}

    def query(
        self, sql: str, parameters: Mapping[str, Any] | None = None, *, of: int | None = None
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a query of ours, as `columns` does."""
        return self.columns(sql, parameters, of=of)[1]

    def columns(
        self, sql: str, parameters: Mapping[str, Any] | None = None, *, of: int | None = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return names of columns and rows of a query of ours; several may run at a time.

        Args:
            sql: The query.
            parameters: Its parameters.
            of: The only profile that it asks for, whose tables alone are then looked into; where it is None, the query
                asks for `profile`, `step` or `collective_across`, which are at hand for all profiles.
        """
        with self.part(of).cursor() as cursor:
            cursor.execute(sql, dict(parameters) if parameters else None)
            return [column[0] for column in cursor.description or ()], cursor.fetchall()

    def part(self, of: int | None) -> Part:
        """Return what holds the tables of a profile, or, for None, of all."""
        return self.across if of is None or self.one_by_one is None else self.one_by_one.opened(of)

    def profile(self, profile_id: int) -> ProfileMeta:
        """Return a profile.

        Raises:
            ApiError: There is none of that number.
        """
        found = self.profiles.get(profile_id)
        if found is None:
            raise ApiError(404, "no_profile", f"there is no profile {profile_id}")
        return found


class ServedRun:
    """One run of the command line, from its first byte to the answers of its API.

    Attributes:
        id: Its letter.
        input: What the user named.
        name: What it is called, told apart from the other run.
        failure: Why it cannot be shown; None as long as it may.
    """

    def __init__(
        self,
        id: str,
        named: Input,
        *,
        cache_dir: Path | None,
        job: str | None,
        name: str = "",
        stand_ins: StandIns | None = None,
        after: ServedRun | None = None,
    ) -> None:
        self.id = id
        self.input = named
        self.name = name or named.name
        self._cache_dir = cache_dir
        self._job = job
        self._stand_ins = stand_ins
        self._after = after
        self._kept = ExitStack()
        self._progress: Progress | None = Progress(0, 0, "")
        self._error: str | None = None
        self.failure: AscendSnError | None = None
        self._open: OpenRun | None = None
        self._stops = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def state(self) -> RunState:
        """How it stands with the run now."""
        state: State = "ready" if self._open is not None else "failed" if self._error is not None else "reading"
        progress = self._progress if state == "reading" else None
        return RunState(self.id, self.name, state, progress, self._error)

    def opened(self) -> OpenRun:
        """Return the run.

        Raises:
            ApiError: It is still read, or cannot be read.
        """
        if self._open is not None:
            return self._open
        if self._error is not None:
            raise ApiError(422, "unusable_input", self._error)
        raise ApiError(503, "still_reading", "the run is still being read", "ask `session` for its progress")

    def read_in_background(self) -> None:
        """Begin to read the run."""
        self._thread = threading.Thread(target=self._read, name=f"reading-{self.id}", daemon=True)
        self._thread.start()

    def read(self) -> None:
        """Read the run now."""
        self._read()

    def stop(self) -> None:
        """End reading at the next source; what was built so far is removed."""
        self._stops.set()

    def wait(self, patience_s: float | None = None) -> bool:
        """Wait until nothing reads in the background any more; false where that takes longer."""
        if self._thread is not None:
            self._thread.join(patience_s)
        return self._thread is None or not self._thread.is_alive()

    def _read(self) -> None:
        try:
            self._open = self._opened()
        except AscendSnError as error:
            self.failure = error
            self._error = str(error) if self._stand_ins is None else self._stand_ins.text(str(error))
        except _StoppedError:
            self._error = "the server ended"
        finally:
            if self._open is None and self._error is None:  # a defect; the thread prints its traceback
                self._error = "an internal error; see the output of the server"

    def _opened(self) -> OpenRun:
        location = locate(self.input.paths, cache_dir=self._cache_dir, progress=self._note, mapping=as_fits)
        try:
            return self._shown(location)
        except StoreError:
            if not location.discard():
                raise
        return self._shown(locate(self.input.paths, cache_dir=self._cache_dir, progress=self._note, mapping=as_fits))

    def _shown(self, location: Location) -> OpenRun:
        manifest = load_manifest(location.folder)
        job = self._job if self._job is not None else newest_job(manifest)
        if self._job is not None and len(jobs_of(manifest)) == 1:
            raise UsageError(f"the input holds one job only; leave out --job {self._job}")
        chosen = job if len(jobs_of(manifest)) > 1 else None
        self._note(0, 0, self.input.name)
        if self._stand_ins is not None:
            return self._shown_with(self._stand_ins, location, chosen)
        # To open a thousand profiles takes seconds: a run of one job is opened once.
        run = Run(location.folder, location.input)
        self._kept.callback(run.close)
        timeline = timeline_of(run, location, class_lanes=class_lanes, cache_dir=self._cache_dir, progress=self._note)
        if chosen is not None:
            run.close()
            run = Run(location.folder, location.input, job=chosen)
            self._kept.callback(run.close)
        run.db.execute(f"set memory_limit = '{_MEMORY}'")
        summed = self._summed(location, run, chosen)
        return OpenRun(self.id, location, run, timeline, chosen, summed)

    def _summed(self, location: Location, run: Run, job: str | None) -> Run | None:
        """Open a large job by its summaries, making them first; None where all its rows are in memory anyway."""
        shown = sum(job in (None, profile.job) for profile in run.manifest.profiles)
        if shown <= LOOKED_INTO_WHOLE or is_small(run.row_count):
            return None
        summed = opened_for(location, job=job, mapping=as_fits, cache_dir=self._cache_dir, progress=self._note)
        self._kept.callback(summed.close)
        summed.db.execute(f"set memory_limit = '{_MEMORY}'")
        return summed

    def _shown_with(self, stand_ins: StandIns, location: Location, job: str | None) -> OpenRun:
        """Open a copy with stand-ins, which is kept in the cache with its timeline."""

        def complete(folder: Path) -> None:
            with Run(folder, location.input) as made:
                add_timeline(made, folder, class_lanes=class_lanes, progress=self._note)

        if self._after is not None:
            self._after.wait()  # stand-ins are numbered as they come up: in the same order, the same copies are used
        with Run(location.folder, location.input, job=job) as whole, ExitStack() as stack:
            made = stand_ins.copied(
                whole,
                complete=complete,
                is_complete=lambda folder: TimelineFiles.is_whole(folder / TIMELINE_FOLDER),
                cache_dir=self._cache_dir,
            )
            copy = stack.enter_context(made)
            timeline = TimelineFiles(copy.path / TIMELINE_FOLDER)
            self._kept.push(stack.pop_all())
        copy.db.execute(f"set memory_limit = '{_MEMORY}'")
        return OpenRun(self.id, location, copy, timeline, job)

    def release(self) -> None:
        """Close the run."""
        self._kept.close()

    def _note(self, done: int, total: int, text: str) -> None:
        if self._stops.is_set():
            raise _StoppedError
        self._progress = Progress(done, total, text if self._stand_ins is None else "")


def distinct_names(inputs: Sequence[Input]) -> list[str]:
    """Return a name for each input: its own, with as many of the folders above it as tell it from the others.

    Inputs that lie at the same place keep their name.
    """
    names = [one.name for one in inputs]
    above = [os.path.realpath(one.paths[0]).split("/")[:-1] for one in inputs]
    for depth in range(1, max((len(folders) for folders in above), default=0)):
        if len(set(names)) == len(names):
            return names
        names = [
            "/".join([*folders[-depth:], one.name]) if [each.name for each in inputs].count(one.name) > 1 else one.name
            for one, folders in zip(inputs, above, strict=True)
        ]
    return names if len(set(names)) == len(names) else [one.name for one in inputs]


class Served:
    """Everything a server shows.

    Attributes:
        runs: The runs, in the order of the command line.
        documents: What views above make of them.
        history: Where the history of baselines lies; None where none is shown.
        cache_dir: The cache.
        stand_ins: Those for paths, users and hosts; None where these are shown.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        documents: Documents,
        *,
        cache_dir: Path | None = None,
        job: str | None = None,
        history: str | None = None,
        stand_ins: StandIns | None = None,
    ) -> None:
        self.documents = documents
        self.history = history
        self.cache_dir = cache_dir
        self.stand_ins = stand_ins
        names = distinct_names(inputs) if stand_ins is None else [f"run-{at + 1}" for at in range(len(inputs))]
        runs: list[ServedRun] = []
        for named, name in zip(inputs, names, strict=True):
            id, before = chr(ord("a") + len(runs)), runs[-1] if runs else None
            runs.append(
                ServedRun(id, named, cache_dir=cache_dir, job=job, name=name, stand_ins=stand_ins, after=before)
            )
        self.runs = tuple(runs)

    def run(self, id: str) -> ServedRun:
        """Return a run by its letter.

        Raises:
            ApiError: There is none.
        """
        found = next((run for run in self.runs if run.id == id), None)
        if found is None:
            raise ApiError(404, "no_run", f"there is no run {id[:20]!r}")
        return found

    def opened(self, id: str) -> OpenRun:
        """Return a run that is ready.

        Raises:
            ApiError: There is none, it is still read, or cannot be read.
        """
        return self.run(id).opened()

    def close(self, patience_s: float = 1.0, *, is_busy: bool = False) -> bool:
        """End what is still read, and release the runs, unless answers are still being worked out from them.

        Returns:
            Whether reading ended within `patience_s`; else what reads goes on until the process ends.
        """
        for run in self.runs:
            run.stop()
        ended = all([run.wait(patience_s) for run in self.runs])
        if ended and not is_busy:
            for run in self.runs:
                run.release()
        return ended
