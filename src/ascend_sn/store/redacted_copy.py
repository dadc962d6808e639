"""A run with stand-ins that is kept in the cache, for who shows it again: made once as long as nothing changes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ascend_sn.errors import StoreError
from ascend_sn.model.manifest import MANIFEST_NAME
from ascend_sn.store.cache import built_once
from ascend_sn.store.environment import cache_folder
from ascend_sn.store.fingerprint import code_state
from ascend_sn.store.redacted_run import learn_run, write_redacted
from ascend_sn.store.redaction import Redactor
from ascend_sn.store.run import Run
from ascend_sn.store.sealed import read_sealed, write_sealed

__all__ = ["kept_copy"]

_FOLDER: Final = "redacted"
_STATE: Final = "stand_ins.json"
_RUN: Final = "run"


def kept_copy(
    run: Run,
    redactor: Redactor,
    *,
    complete: Callable[[Path], None],
    is_complete: Callable[[Path], bool],
    cache_dir: Path | None = None,
) -> Path:
    """Return the run folder of a copy with stand-ins, making it first where there is none.

    The copy belongs to the run, to this version of the code, and to all that the redactor knows before: stand-ins are
    numbered as they come up. Afterwards the redactor knows what it knew when the copy was made, so that the same thing
    has the same stand-in in the copy and in every later text.

    Args:
        run: The run, opened as it is to be shown.
        redactor: Learns the run first.
        complete: Adds to the run folder what else is kept with it.
        is_complete: Whether a run folder has that.
        cache_dir: The cache; default as for `open_run`.

    Raises:
        StoreError: It cannot be written.
    """
    learn_run(redactor, run)
    formats = {name for (name,) in run.db.execute("select distinct format from profile").fetchall()}
    if "onnxruntime" in formats:
        redactor.keep_node_names()
    folder = (cache_dir or cache_folder()) / _FOLDER / _key(run, redactor)

    def build(building: Path) -> None:
        (building / _RUN).mkdir()
        write_redacted(run, building / _RUN, redactor)
        complete(building / _RUN)
        write_sealed(building / _STATE, redactor.known())

    def is_whole(place: Path) -> bool:
        try:
            Redactor().know_again(read_sealed(place / _STATE))
        except (OSError, ValueError):
            return False
        return (place / _RUN / MANIFEST_NAME).is_file() and is_complete(place / _RUN)

    try:
        built_once(folder, folder.with_name(f"{folder.name}.lock"), build, is_whole, shrinks=True)
        redactor.know_again(read_sealed(folder / _STATE))
    except OSError as error:
        hint = "name another folder with --cache-dir or ASCEND_SN_CACHE_DIR"
        raise StoreError(error.filename or folder, f"cannot be written: {error.strerror}; {hint}") from error
    return folder / _RUN


def _key(run: Run, redactor: Redactor) -> str:
    """A name that changes with the run, with what makes the copy, and with what the stand-ins depend on."""
    status = (run.path / MANIFEST_NAME).stat()
    state = f"{os.path.realpath(run.path)}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ino}\0{run.job}\0"
    digest = hashlib.sha256(f"{state}{code_state()}\0".encode("utf-8", "surrogateescape"))
    digest.update(redactor.known())
    return digest.hexdigest()[:32]
