"""Where the files of one process lie inside the output folder; nothing there is ever overwritten."""

from __future__ import annotations

import os
import time

from ascend_sn.model.trace_schema import NAMES_NAME, TRACE_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ascend_sn.collect.environment import JobPlace

__all__ = ["RunFolder", "create_run_folder"]

_HOST_LENGTH = 64


class RunFolder:
    """A folder with its two files, just created and empty.

    Attributes:
        path: Absolute path of the folder.
        names: File descriptor of `names.trace`.
        trace: File descriptor of `train.trace`.
    """

    __slots__ = ("_is_new", "names", "path", "trace")

    def __init__(self, path: str, *, is_new: bool) -> None:
        self.path = path
        self._is_new = is_new
        # Exclusive: two processes that find the same folder empty do not both get it.
        self.trace = _create(os.path.join(path, TRACE_NAME))
        try:
            self.names = _create(os.path.join(path, NAMES_NAME))
        except OSError:
            os.close(self.trace)
            os.unlink(os.path.join(path, TRACE_NAME))
            raise

    def discard(self) -> None:
        """Take the files away again, and the folder when it was made for them."""
        for name, descriptor in ((TRACE_NAME, self.trace), (NAMES_NAME, self.names)):
            os.close(descriptor)
            os.unlink(os.path.join(self.path, name))
        if self._is_new:
            os.rmdir(self.path)


def create_run_folder(output: str, place: JobPlace, *, start_ns: int, host: str, pid: int) -> RunFolder:
    """Create the folder and the empty files of this process.

    The files lie directly in `output` when that is new or empty and the process is not one of several ranks;
    otherwise in `output/<start>_<host>_<pid>[_rank<n>]`, the start being UTC with milliseconds.

    Raises:
        ProfilerPathError: A folder or file cannot be created; it names the path.
    """
    try:
        return _create_run_folder(output, place, start_ns, host, pid)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        from ascend_sn.errors import ProfilerPathError

        problem = getattr(error, "strerror", None) or str(error)
        raise ProfilerPathError(output, f"cannot write the recording there: {problem}") from error


def _create_run_folder(output: str, place: JobPlace, start_ns: int, host: str, pid: int) -> RunFolder:
    is_new = not os.path.isdir(output)
    os.makedirs(output, exist_ok=True)
    if not place.is_one_of_several and not os.listdir(output):
        try:
            return RunFolder(output, is_new=is_new)
        except FileExistsError:  # another process was faster: lie beside it
            pass
    name = _folder_name(place, start_ns, host, pid)
    attempt = 1
    while True:
        path = os.path.join(output, name if attempt == 1 else f"{name}-{attempt}")
        try:
            os.mkdir(path)
        except FileExistsError:
            attempt += 1
            continue
        return RunFolder(path, is_new=True)


def _folder_name(place: JobPlace, start_ns: int, host: str, pid: int) -> str:
    seconds, rest_ns = divmod(start_ns, 1_000_000_000)
    start = time.strftime("%Y%m%dT%H%M%S", time.gmtime(seconds))
    letters = (letter if letter.isalnum() or letter in "-." else "-" for letter in host[:_HOST_LENGTH])
    plain_host = "".join(letters)
    rank = "" if place.rank is None else f"_rank{place.rank}"
    return f"{start}.{rest_ns // 1_000_000:03d}Z_{plain_host}_{pid}{rank}"


def _create(path: str) -> int:
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o644)
