"""Open the run that a command names, telling the reader what takes long."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ascend_sn.cli.waiting import Waiting
from ascend_sn.errors import UsageError
from ascend_sn.report.language import Language

if TYPE_CHECKING:
    from ascend_sn.report.assemble import Selection
    from ascend_sn.report.document import Document

__all__ = ["document_of", "input_of"]


def input_of(path: Path | None, input_path: Path | None) -> Path:
    """Return the path given as argument or with `--input`; they mean the same.

    Raises:
        UsageError: Neither is given, or both and they differ.
    """
    if path is not None and input_path is not None and path != input_path:
        raise UsageError(f"two inputs: {path} and {input_path}; give one")
    found = input_path or path
    if found is None:
        raise UsageError("no input: name a file or folder, or use --input PATH")
    return found


def document_of(
    path: Path, language: Language, *, cache_dir: Path | None, selection: Selection | None = None
) -> Document:
    """Read and analyse a run."""
    from ascend_sn.report.assemble import assemble
    from ascend_sn.store import open_run

    with (
        Waiting(language.text("say.reading", name=path.name)) as waiting,
        open_run(path, cache_dir=cache_dir, progress=waiting.reading) as run,
    ):
        waiting.tell(language.text("say.analysing"))
        return assemble(run, language, selection)
