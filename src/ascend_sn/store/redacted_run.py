"""A run in which paths, users and hosts have stand-ins: whoever reads it cannot show the originals."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb
import msgspec

from ascend_sn.errors import StoreError
from ascend_sn.model.manifest import MANIFEST_NAME, Manifest
from ascend_sn.model.tables import TABLES, Table
from ascend_sn.store.input import Input
from ascend_sn.store.parquet import quiet
from ascend_sn.store.redaction import Redactor, of_this_machine
from ascend_sn.store.run import Run
from ascend_sn.store.sealed import sealed_object

__all__ = ["learn_run", "redacted_run", "redactor_of", "write_redacted"]

_PLACES: Final = {("profile", "source"), ("damage", "file")}
"""Columns that hold a path and nothing else."""

_OUR_WORDS: Final = frozenset(
    {
        "kind",
        "origin",
        "state",
        "method",
        "phase",
        "table_name",
        "column_name",
        "device_kind",
        "format",
        "severity",
        "component",
        "copy_direction",
        "src_table",
        "dst_table",
        "unit",
    }
)
"""Columns that hold words of this package."""


def redactor_of(run: Run) -> Redactor:
    """Return a redactor that knows the hosts and users of a run, and those of this machine."""
    hosts, users = of_this_machine()
    formats = {name for (name,) in run.db.execute("select distinct format from profile").fetchall()}
    redactor = Redactor(node_names="onnxruntime" in formats)
    learn_run(redactor, run)
    for name in hosts:
        redactor.know_host(name)
    for name in users:
        redactor.know_user(name)
    return redactor


def learn_run(redactor: Redactor, run: Run) -> None:
    """Let a redactor look at the hosts, the input, the configuration, the damage and the stacks of a run."""
    query = "select distinct host from profile where host is not null order by 1"
    for (host,) in run.db.execute(query).fetchall():
        redactor.know_host(host)
    for named in run.input.paths:
        redactor.learn(os.path.realpath(named))
    redactor.learn_input(run.input.name)
    for table, column in (("profile", "source"), ("profile", "config"), ("damage", "file"), ("damage", "example"),
                          ("stack", "frames")):  # fmt: skip
        query = f"select distinct {column} from {table} where {column} is not null order by 1"
        for (text,) in run.db.execute(query).fetchall():
            redactor.learn(text)


@contextmanager
def redacted_run(run: Run, redactor: Redactor | None = None) -> Iterator[Run]:
    """Copy a run into a temporary folder with stand-ins in all its texts, and open that while the `with` block lasts.

    Raises:
        StoreError: There is no room for the copy.
    """
    chosen = redactor or redactor_of(run)
    with tempfile.TemporaryDirectory(prefix="ascend-sn-redacted-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        write_redacted(run, folder, chosen)
        with Run(folder, Input.of(chosen.place(run.input.name))) as copy:
            yield copy


def write_redacted(run: Run, folder: Path, redactor: Redactor) -> None:
    """Write a run into an empty folder, with stand-ins in all its texts.

    Raises:
        StoreError: There is no room for it.
    """
    try:
        with quiet(duckdb.connect()) as db:
            for table in TABLES:
                _copy_table(db, table, run.files[table.name], folder, redactor)
        (folder / MANIFEST_NAME).write_bytes(sealed_object(msgspec.json.encode(_manifest(run, redactor))))
    except (OSError, duckdb.IOException) as error:
        raise StoreError(folder, f"cannot be written: {str(error).splitlines()[0]}") from error


def _copy_table(
    db: duckdb.DuckDBPyConnection, table: Table, files: list[Path], folder: Path, redactor: Redactor
) -> None:
    columns = [one.name for one in table.columns if one.type == "text" and one.name not in _OUR_WORDS]
    for file in files:
        target = folder / table.name / file.parent.name / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        source = f"read_parquet({_literal(file)}, hive_partitioning = false, file_row_number = true)"
        replaced = []
        for column in columns:
            query = f"select distinct {column} from {source} where {column} is not null order by 1"
            texts = [text for (text,) in db.execute(query).fetchall()]
            shown = [_shown(text, (table.name, column) in _PLACES, redactor) for text in texts]
            changed = [pair for pair in zip(texts, shown, strict=True) if pair[0] != pair[1]]
            if not changed:
                continue
            db.execute(f"create or replace temp table shown_{column} (original varchar, stand_in varchar)")
            db.executemany(f"insert into shown_{column} values (?, ?)", changed)
            replaced.append(column)
        if not replaced:
            shutil.copyfile(file, target)
            continue
        joins = " ".join(f"left join shown_{name} on shown_{name}.original = stored.{name}" for name in replaced)
        shown_columns = ", ".join(f"coalesce(shown_{name}.stand_in, stored.{name}) as {name}" for name in replaced)
        db.execute(
            f"copy (select stored.* exclude (file_row_number) replace ({shown_columns}) "
            f"from {source} as stored {joins} "
            f"order by stored.file_row_number) to '{_escaped(target)}' (format parquet, compression zstd)"
        )


def _shown(text: str, is_place: bool, redactor: Redactor) -> str:
    return redactor.place(text) if is_place else redactor.text(text)


def _manifest(run: Run, redactor: Redactor) -> Manifest:
    manifest = run.manifest
    profiles = [
        msgspec.structs.replace(
            profile,
            host=None if profile.host is None else redactor.text(profile.host),
            source=redactor.place(profile.source),
            job=redactor.place(profile.job),
            sums={},
        )
        for profile in manifest.profiles
        if run.job in (None, profile.job)
    ]
    return msgspec.structs.replace(
        manifest, input=redactor.place(manifest.input), sources=msgspec.Raw(b"[]"), profiles=profiles, overhead={}
    )


def _literal(path: Path) -> str:
    plain = "".join(f"[{character}]" if character in "[*?" else character for character in str(path))
    return f"'{_escaped(plain)}'"


def _escaped(path: Path | str) -> str:
    return str(path).replace("'", "''")
