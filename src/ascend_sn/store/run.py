"""An opened run: its tables as SQL, its profiles, what was damaged and what was collected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import duckdb
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from ascend_sn.errors import StoreError, UnknownNameError
from ascend_sn.model.manifest import Manifest, ManifestLost
from ascend_sn.model.tables import BY_NAME
from ascend_sn.store.input import Input
from ascend_sn.store.jobs import jobs_of
from ascend_sn.store.locate import locate
from ascend_sn.store.parquet import connected, is_small, show_table
from ascend_sn.store.run_parts import WHOLE_INPUT
from ascend_sn.store.summaries import Summaries
from ascend_sn.store.upgrade import load_manifest
from ascend_sn.store.whole import check_shown

if TYPE_CHECKING:
    from ascend_sn.store.ingest import Progress
    from ascend_sn.store.page import Page

__all__ = ["Run", "open_run"]


class Run:
    """A run folder, opened for reading. Close it, or use it in a `with` statement.

    Attributes:
        path: The run folder.
        input: What the user opened: one path, or several.
        manifest: Its manifest, upgraded to this version.
        files: The Parquet files of each table.
        assumed_ranks: Profiles whose files state no rank and that are shown as rank 0.
        db: A DuckDB connection on which every table of `model.tables` is visible.
        job: Name of the job whose profiles are visible; None where all are.
        row_count: Rows of all tables.
        detailed: Profiles whose tables are shown, where the others are known by their summaries only; else None.
        unsummarised: Captures that have no summary.
        display: Makes what a notebook shows of the run, as HTML; who opens runs for people sets it.

    With `profiles`, the tables of these are shown. With `summaries`, the results per profile of a cluster are shown,
    and the tables that they hold for all profiles; the other tables are empty without `profiles`. Who has read the
    manifest gives it: that of many profiles has megabytes.
    """

    detailed: frozenset[int] | None = None
    unsummarised: Sequence[ManifestLost] = ()
    display: Callable[[Run], str] | None = None

    def __init__(
        self,
        path: Path,
        named: Input,
        *,
        job: str | None = None,
        profiles: Collection[int] | None = None,
        summaries: Summaries | None = None,
        manifest: Manifest | None = None,
    ) -> None:
        self.path = path
        self.input = named
        self.job = job
        self.manifest: Manifest = load_manifest(path) if manifest is None else manifest
        of_job = {profile.profile_id for profile in self.manifest.profiles if job in (None, profile.job)}
        if job is not None and not of_job:
            nearest = next(iter(get_close_matches(job, self.jobs, n=1)), None)
            raise UnknownNameError("job", job, self.jobs, nearest)
        visible = of_job if profiles is None else of_job & set(profiles)
        is_part = len(visible) < len(self.manifest.profiles)
        if summaries is not None:
            self.detailed = frozenset(() if profiles is None else visible)
            self.unsummarised = summaries.lost
        self.assumed_ranks = [profile.profile_id for profile in self.manifest.profiles if profile.rank_assumed]
        self.files: dict[str, list[Path]] = {}
        self.row_count = 0 if summaries is None else summaries.row_count
        if summaries is None or profiles is not None:
            self.row_count += sum(sum(self.manifest.profiles[one].tables.values()) for one in visible)
        self.db: DuckDBPyConnection = connected(self.row_count)
        summed = (
            []
            if summaries is None
            else summaries.show(self.db, None if self.job is None else of_job, in_memory=profiles is not None)
        )
        for name, table in BY_NAME.items():
            if name in summed:
                continue
            if summaries is not None and profiles is None:
                show_table(self.db, table, [])
                continue
            # Of a thousand profiles, only the folders of those that are shown are looked into.
            folders = [f"profile={one}" for one in (*visible, WHOLE_INPUT)] if is_part else ["profile=*"]
            files = sorted(file for one in folders for file in path.absolute().glob(f"{name}/{one}/part-*.parquet"))
            self.files[name] = files
        if self.files:
            check_shown(path, self.files, [self.manifest.profiles[one] for one in visible])
        for name, files in self.files.items():
            try:
                show_table(self.db, BY_NAME[name], files, self.assumed_ranks, in_memory=is_small(self.row_count))
            except duckdb.Error as error:
                raise StoreError(path / name, f"the table cannot be read: {str(error).splitlines()[0]}") from error

    @property
    def jobs(self) -> tuple[str, ...]:
        """Names of the jobs in the input, by their first profile; one empty name where it holds one job only."""
        return jobs_of(self.manifest)

    @property
    def tables(self) -> dict[str, int]:
        """The tables that hold anything, in the order of the reference, with their rows."""
        rows = {name: self.db.execute(f"select count(*) from {name}").fetchall()[0][0] for name in BY_NAME}
        return {name: int(count) for name, count in rows.items() if count}

    @property
    def profiles(self) -> DuckDBPyRelation:
        """The table `profile`, by id."""
        return self.db.sql("select * from profile order by profile_id")

    @property
    def steps(self) -> DuckDBPyRelation:
        """The table `step`, by profile and time."""
        return self.db.sql("select * from step order by profile_id, step_id")

    @property
    def damage(self) -> DuckDBPyRelation:
        """The damage ledger."""
        return self.db.sql("select * from damage order by profile_id, file, kind")

    @property
    def coverage(self) -> DuckDBPyRelation:
        """What was asked for and what came."""
        return self.db.sql("select * from coverage order by profile_id, table_name, column_name")

    def sql(self, query: str, **parameters: Any) -> DuckDBPyRelation:
        """Run a query on the tables; trusted, as it is your own Python. Parameters are named `$name`."""
        return self.db.sql(query, params=parameters or None)

    def view(self, *, inline: bool = False, height: int = 800) -> Page:
        """Show the run as a web page: a notebook shows it in a frame, elsewhere its address is printed.

        Args:
            inline: Show the report instead, whole and without a server, so that it stays in a saved notebook.
            height: Height of the frame in pixels.

        Returns:
            The page. A process of its own serves it; it ends after an hour without a visitor, or with `Page.close`.

        Raises:
            StoreError: The page could not be started, or the report not be written.
        """
        from ascend_sn.store.page import inline_page, served_page

        cache = self.path.parent.parent if self.path.parent.name == "runs" else None
        make = inline_page if inline else served_page
        return make(self.input, self.path, job=self.job, cache_dir=cache, height=height)

    @contextmanager
    def only(self, profile_id: int) -> Iterator[DuckDBPyConnection]:
        """Give a connection on which the tables of one profile are visible, for queries that name it anyway.

        A query on a run of a thousand profiles looks into the files of all of them, whichever it asks for.
        """
        if is_small(self.row_count) or len(self.manifest.profiles) == 1:
            yield self.db
            return
        own = f"profile={profile_id}"
        db = connected(self.row_count)
        try:
            for name, table in BY_NAME.items():
                files = [file for file in self.files[name] if file.parent.name == own]
                show_table(db, table, files, self.assumed_ranks)
            yield db
        finally:
            db.close()

    def close(self) -> None:
        """Release the connection."""
        self.db.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows; without `display` it falls back to the plain text."""
        return None if self.display is None else self.display(self)

    def __repr__(self) -> str:
        paths = ", ".join(repr(str(path)) for path in self.input.paths)
        return f"Run({paths}, profiles={len(self.manifest.profiles)})"


def open_run(
    path: str | Path | Sequence[str | Path],
    *more: str | Path,
    job: str | None = None,
    cache_dir: str | Path | None = None,
    progress: Progress | None = None,
) -> Run:
    """Open anything that the readers understand, a tree of it, or a run folder of ours.

    Foreign input is read once into the cache; an unchanged input is not read again. Nothing is written into it.
    Several paths, such as the rank folders of a run, are read as the folder that they share would be, if it held
    nothing else; what is named twice counts once.

    Args:
        path: File or folder, or a sequence of them.
        more: Further ones.
        job: Show only this one of `Run.jobs`, where the input holds several that have nothing to do with each other.
        cache_dir: The cache; default `$ASCEND_SN_CACHE_DIR`, else `$XDG_CACHE_HOME/ascend-sn`.
        progress: Called while reading, see `ingest.Progress`.

    Raises:
        InputError: No such path, an unknown format, nothing usable in it, or raw data not parsed yet.
        RunVersionError: A run folder of a newer version.
        UnknownNameError: No job of that name.
        StoreError: A run folder in which files are missing or damaged, or a cache that cannot be written.
        UsageError: A run folder of ours among several paths, or a cache inside the input.
    """
    cache = None if cache_dir is None else Path(cache_dir)
    location = locate(path, *more, cache_dir=cache, progress=progress)
    try:
        return Run(location.folder, location.input, job=job)
    except StoreError:
        if not location.discard():
            raise
    location = locate(path, *more, cache_dir=cache, progress=progress)
    return Run(location.folder, location.input, job=job)
