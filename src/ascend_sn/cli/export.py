"""`ascend-sn export`: a run for other tools: a Chrome trace, or a file per table."""

from __future__ import annotations

import gzip
import re
import shutil
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from ascend_sn.cli.command import ANY_PATH, GuideCommand, input_options, job_option, language_option, redact_option
from ascend_sn.cli.opening import input_of
from ascend_sn.cli.waiting import Waiting
from ascend_sn.errors import StoreError, UsageError
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable

if TYPE_CHECKING:
    from ascend_sn.report.chrome_trace.export import Window
    from ascend_sn.store import Run

_RANGE: Final = re.compile(r"(\d+)(?:-(\d+))?")


@click.command(cls=GuideCommand)
@input_options()
@click.option(
    "--format",
    "output_format",
    type=click.Choice(("chrome", "csv", "parquet")),
    default="chrome",
    show_default=True,
    help="cli.option.export-format",
)
@click.option("--output", type=ANY_PATH, metavar="PATH", required=True, help="cli.option.export-output")
@click.option("--ranks", metavar="LIST", help="cli.option.ranks")
@click.option("--steps", metavar="A-B", help="cli.option.steps")
@job_option()
@redact_option()
@click.option("--cache-dir", type=ANY_PATH, metavar="DIR", help="cli.option.cache-dir")
@language_option()
def export(
    *,
    paths: tuple[Path, ...],
    input_paths: tuple[Path, ...],
    output_format: str,
    output: Path,
    ranks: str | None,
    steps: str | None,
    job: str | None,
    redact: bool,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """Write a run in a form of other tools; nothing that exists is overwritten."""
    from ascend_sn.store import open_run
    from ascend_sn.store.redacted_run import redacted_run

    source = input_of(paths, input_paths)
    if output_format != "chrome" and (ranks or steps):
        raise UsageError(f"--ranks and --steps belong to --format chrome, not to {output_format}")
    _check_free(output)
    with (
        Waiting(language.text("say.reading", name=source.name)) as waiting,
        open_run(source.paths, job=job, cache_dir=cache_dir, progress=waiting.reading) as opened,
        redacted_run(opened) if redact else nullcontext(opened) as run,
    ):
        try:
            if output_format == "chrome":
                _write_trace(run, output, _window(run, ranks, steps), waiting)
            else:
                _write_tables(run, output, output_format)
        except OSError as error:
            raise StoreError(output, f"cannot be written: {error.strerror}") from error
    print(printable(language.text("say.exported", path=output)))
    return 0


def _check_free(output: Path) -> None:
    if output.exists():
        raise UsageError(f"{output}: exists; choose another name")
    if not output.absolute().parent.is_dir():
        raise UsageError(f"{output}: there is no folder {output.parent}")


def _window(run: Run, ranks: str | None, steps: str | None) -> Window:
    """Read the choice of ranks and steps.

    Raises:
        UsageError: Not a list of numbers and ranges, or nothing of the run in it.
    """
    from ascend_sn.report.chrome_trace.export import Window

    there = {rank for (rank,) in run.db.execute("select distinct rank from profile").fetchall()}
    chosen = None if ranks is None else {n for a, b in _ranges("--ranks", ranks) for n in range(a, min(b, 1 << 20) + 1)}
    if chosen is not None and not chosen & there:
        raise UsageError(f"--ranks {ranks}: the run has none of these ranks")
    window = None
    if steps is not None:
        found = _ranges("--steps", steps)
        if len(found) != 1:
            raise UsageError(f"--steps {steps}: give one step or one range, such as 3-5")
        window = found[0]
        query = "select count(*) from step where step between $a and $b"
        ((count,),) = run.db.execute(query, {"a": window[0], "b": window[1]}).fetchall()
        if not count:
            raise UsageError(f"--steps {steps}: the run has none of these steps")
    return Window(chosen, window)


def _ranges(option: str, text: str) -> list[tuple[int, int]]:
    found = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None or len(part) > 20:
            raise UsageError(f"{option} {text}: give numbers and ranges, such as 0,4-7")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UsageError(f"{option} {text}: the range {part.strip()} ends before it begins")
        found.append((first, last))
    return found


def _write_trace(run: Run, output: Path, window: Window, waiting: Waiting) -> None:
    """Write the trace whole or not at all; packed where the name ends with .gz."""
    from ascend_sn.report.chrome_trace.export import chrome_trace

    with tempfile.TemporaryDirectory(dir=output.absolute().parent, prefix=f".{output.name}.") as folder:
        scratch = Path(folder) / "trace"
        with _opened(scratch, packed=output.suffix == ".gz") as file:
            for piece in chrome_trace(run, window, progress=waiting.reading):
                file.write(piece)
        scratch.rename(output)


def _opened(path: Path, *, packed: bool) -> IO[str]:
    if packed:
        return gzip.open(path, "wt", encoding="utf-8")
    return path.open("w", encoding="utf-8")


def _write_tables(run: Run, output: Path, file_format: str) -> None:
    import duckdb

    from ascend_sn.report.tables.files import write_tables

    partial = output.with_name(f".{output.name}.partial")
    partial.mkdir()
    try:
        write_tables(run, partial, "csv" if file_format == "csv" else "parquet")
        partial.rename(output)
    except duckdb.IOException as error:
        raise StoreError(output, f"cannot be written: {str(error).splitlines()[0]}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
