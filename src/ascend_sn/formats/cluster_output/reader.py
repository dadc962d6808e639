"""The reader of `cluster_analysis_output`."""

from __future__ import annotations

from pathlib import Path

from ascend_sn.errors import FormatError
from ascend_sn.formats.cluster_output.layout import ClusterFiles, cluster_files, single_file
from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.model.capture import Capture

__all__ = ["READER"]


def _files(path: Path, head: bytes | None = None) -> ClusterFiles | None:
    if path.is_dir():
        return cluster_files(path)
    return single_file(path, Candidate(path).head if head is None else head)


def _claims(candidate: Candidate) -> bool:
    return _files(candidate.path, b"" if candidate.is_folder else candidate.head) is not None


def _members(path: Path) -> list[Path]:
    files = _files(path)
    return [] if files is None else files.members


def _read(source: Source) -> list[Capture]:
    # Loaded for such an input only: every input is shown to every reader.
    from ascend_sn.formats.cluster_output.captures import captures_of

    files = _files(source.path)
    if files is None:
        raise FormatError(source.path, "no output of a cluster analysis in it")
    return captures_of(source, files)


READER = Reader("cluster", _claims, _members, _read, sums_up=True)
