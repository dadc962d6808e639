"""Write the fixture of today's run-folder version: `python -m tests.unit.store.make_fixture`.

A fixture is written once, when its version is new, and never again: it stands for what users have on disk.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from unittest import mock

from ascend_sn.model.manifest import RUN_VERSION
from ascend_sn.store import open_run
from tests.unit.store.drawn_reader import DrawnReader, write_drawn


def make_fixture(target: Path) -> None:
    """Ingest two drawn profiles, one with damage, and a foreign file; copy the run to `target`."""
    drawn = DrawnReader()
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch("ascend_sn.formats.discover.readers", return_value=(drawn.reader,)),
    ):
        source = Path(folder) / "drawn"
        write_drawn(source / "first.txt", rank=1, kernels=3, lost=2)
        write_drawn(source / "second.txt", rank=0, kernels=2)
        (source / "notes.md").write_text("not a profile\n", encoding="utf-8")
        run = open_run(source, cache_dir=Path(folder) / "cache")
        shutil.copytree(run.path, target)


if __name__ == "__main__":
    make_fixture(Path(__file__).parents[2] / "golden" / "run_folder" / f"v{RUN_VERSION}")
