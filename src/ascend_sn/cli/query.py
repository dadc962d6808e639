"""`ascend-sn query`: SQL on the tables of a run, one SELECT at a time."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import ExitStack, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from ascend_sn.cli.command import (
    ANY_PATH,
    GuideCommand,
    input_option,
    job_option,
    language_option,
    redact_option,
    switch,
)
from ascend_sn.cli.opening import input_of
from ascend_sn.cli.waiting import Waiting
from ascend_sn.errors import QueryError, StoreError, UnknownNameError, UsageError
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable

if TYPE_CHECKING:
    from ascend_sn.store.input import Input
    from ascend_sn.store.sandbox import Answer, Sandbox

_SUFFIXES: Final = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".txt": "text"}
_ROWS: Final = 100


@click.command(cls=GuideCommand)
@click.argument("words", nargs=-1, metavar="[PATH]... [SQL]")
@input_option()
@click.option(
    "--format", "output_format", type=click.Choice(("text", "csv", "json", "parquet")), help="cli.option.query-format"
)
@click.option("--output", type=ANY_PATH, metavar="FILE", help="cli.option.query-output")
@switch("--schema", help="cli.option.schema")
@click.option(
    "--limit", type=click.IntRange(min=1), default=_ROWS, metavar="N", show_default=True, help="cli.option.limit-rows"
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    metavar="SECONDS",
    show_default=True,
    help="cli.option.timeout",
)
@job_option()
@redact_option()
@click.option("--cache-dir", type=ANY_PATH, metavar="DIR", help="cli.option.cache-dir")
@language_option()
def query(
    *,
    words: tuple[str, ...],
    input_paths: tuple[Path, ...],
    output_format: str | None,
    output: Path | None,
    schema: bool,
    limit: int,
    timeout: float,
    job: str | None,
    redact: bool,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """Answer a SELECT; without one, ask for them at a terminal or read one from standard input."""
    chosen = _format(output_format, output)
    if schema:
        if len(words) > 1:
            raise UsageError(f"unexpected {words[1]!r}; --schema takes the name of one table")
        _print_schema(chosen, next(iter(words), None))
        return 0
    named, sql = _input_and_query(words, input_paths)
    from ascend_sn.store import open_run
    from ascend_sn.store.sandbox import Sandbox

    with ExitStack() as opened:
        with Waiting(language.text("say.reading", name=named.name)) as waiting:
            run = opened.enter_context(open_run(named.paths, job=job, cache_dir=cache_dir, progress=waiting.reading))
            if redact:
                from ascend_sn.store.redacted_run import redacted_run

                run = opened.enter_context(redacted_run(run))
            sandbox = opened.enter_context(Sandbox(run, timeout_s=timeout))
        if sql is None and sys.stdin.isatty():
            _converse(sandbox, language, limit)
        else:
            _answer(sandbox, sys.stdin.read() if sql is None else sql, chosen, output, language, limit)
    return 0


def _input_and_query(words: tuple[str, ...], input_paths: tuple[Path, ...]) -> tuple[Input, str | None]:
    """Tell the input from the query: the first word is a path, and so are those behind it that name something there.

    With `--input` every word is the query.

    Raises:
        UsageError: No input, or more words than an input and a query.
    """
    left = list(words)
    paths = list(input_paths)
    if any(not word.strip() for word in left):
        raise UsageError("the query is empty")
    if not paths and left:
        paths.append(Path(left.pop(0)))
        while left and os.path.lexists(left[0]):
            paths.append(Path(left.pop(0)))
    if len(left) > 1:
        raise UsageError(f"unexpected {left[0]!r}: no such file or folder; put the query in quotes, as one word")
    return input_of(paths), left[0] if left else None


def _format(output_format: str | None, output: Path | None) -> str:
    """Return the format: as asked for, else as the suffix says, else a table.

    Raises:
        UsageError: A suffix that names none, a file that is there already, or Parquet without a file.
    """
    if output is None:
        if output_format == "parquet":
            raise UsageError("--format parquet needs --output FILE")
        return output_format or "text"
    by_suffix = _SUFFIXES.get(output.suffix.lower())
    if output_format is None and by_suffix is None:
        raise UsageError(f"{output}: the suffix names no known format; use {', '.join(_SUFFIXES)}, or --format")
    if output.exists():
        raise UsageError(f"{output}: exists; choose another name")
    if not output.parent.is_dir():
        raise UsageError(f"{output}: there is no folder {output.parent}")
    return output_format or by_suffix or "text"


def _answer(
    sandbox: Sandbox, sql: str, output_format: str, output: Path | None, language: Language, limit: int
) -> None:
    with sandbox.answer(sql) as answer:
        if output is None:
            _write(answer, output_format, sys.stdout, language, limit)
            return
        try:
            with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}.") as folder:
                scratch = Path(folder) / "answer"
                if output_format == "parquet":
                    answer.write_parquet(scratch)
                else:
                    with scratch.open("w", encoding="utf-8", newline="") as file:
                        _write(answer, output_format, file, language, limit)
                scratch.rename(output)
        except OSError as error:
            raise StoreError(output, f"cannot be written: {error.strerror}") from error


def _write(answer: Answer, output_format: str, file: IO[str], language: Language, limit: int) -> None:
    from ascend_sn.cli.answers import write_csv, write_json, write_table

    if output_format == "csv":
        write_csv(answer, file)
    elif output_format == "json":
        write_json(answer, file)
    else:
        write_table(answer, file, language, limit=limit)


def _print_schema(output_format: str, name: str | None) -> None:
    """Print the tables with their columns; of one table where its name stands in the place of the input.

    Raises:
        UnknownNameError: No table of the name, and no file either: an input has the same tables as any other.
    """
    from ascend_sn.model.tables import BY_NAME

    if name is not None and name not in BY_NAME and not os.path.lexists(name):
        raise UnknownNameError("table", name, tuple(BY_NAME), next(iter(get_close_matches(name, BY_NAME, n=1)), None))
    tables = [BY_NAME[name]] if name in BY_NAME else list(BY_NAME.values())
    if output_format == "json":
        described = [
            {
                "table": table.name,
                "row": table.row,
                "columns": [{"name": one.name, "type": one.duckdb_type, "doc": one.doc} for one in table.columns],
            }
            for table in tables
        ]
        print(json.dumps(described, ensure_ascii=False, indent=1))
        return
    for table in tables:
        print(f"{table.name}: {table.row}")
        for column in table.columns:
            print(f"  {column.name:<24} {column.duckdb_type:<8} {column.doc}")


def _converse(sandbox: Sandbox, language: Language, limit: int) -> None:
    """Answer one SELECT after the other until the input ends; a query ends with a semicolon."""
    from ascend_sn.cli.answers import write_table

    with suppress(ImportError):  # not everywhere
        import readline  # noqa: F401 - gives `input` its history and editing
    print(language.text("query.hello"))
    pending: list[str] = []
    while True:
        try:
            line = input("   ...> " if pending else "query> ")
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            pending.clear()
            continue
        word = line.strip().lower()
        if not pending and word in (".quit", ".exit", "quit", "exit"):
            return
        if not pending and word.split(" ")[0] in (".schema", ".tables"):
            try:
                _print_schema("text", word.split(" ")[1] if " " in word else None)
            except UnknownNameError as error:
                print(printable(str(error)), file=sys.stderr)
            continue
        pending.append(line)
        if not line.rstrip().endswith(";"):
            continue
        sql = "\n".join(pending)
        pending.clear()
        try:
            with sandbox.answer(sql) as answer:
                write_table(answer, sys.stdout, language, limit=limit)
        except QueryError as error:
            print(printable(str(error)), file=sys.stderr)
