"""Where the files of one process lie inside the output folder; nothing there is ever overwritten."""

from __future__ import annotations

import errno
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

    A program may make a profiler per epoch: files are open only while they are written.

    Attributes:
        path: Absolute path of the folder.
    """

    __slots__ = ("_is_new", "_made", "_open", "path")

    def __init__(self, path: str, *, is_new: bool) -> None:
        self.path = path
        self._is_new = is_new
        self._open: dict[str, int] = {}
        self._made: dict[str, tuple[int, int]] = {}
        # Exclusive: two processes that find the same folder empty do not both get it.
        self._create(TRACE_NAME)
        try:
            self._create(NAMES_NAME)
        except OSError:
            self.close()
            os.unlink(os.path.join(path, TRACE_NAME))
            raise

    @property
    def trace(self) -> int:
        """File descriptor of `train.trace`; raises OSError where the file is gone."""
        return self._descriptor(TRACE_NAME)

    @property
    def names(self) -> int:
        """File descriptor of `names.trace`; raises OSError where the file is gone."""
        return self._descriptor(NAMES_NAME)

    def close(self) -> None:
        """Close both files; who writes again opens them."""
        while self._open:
            os.close(self._open.popitem()[1])

    def discard(self) -> None:
        """Take the files away again, and the folder when it was made for them."""
        self.close()
        for name in (TRACE_NAME, NAMES_NAME):
            os.unlink(os.path.join(self.path, name))
        if self._is_new:
            os.rmdir(self.path)

    def _create(self, name: str) -> None:
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC
        self._open[name] = descriptor = os.open(os.path.join(self.path, name), flags, 0o644)
        self._made[name] = _identity(descriptor)

    def _descriptor(self, name: str) -> int:
        found = self._open.get(name)
        if found is None:
            found = os.open(os.path.join(self.path, name), os.O_RDWR | os.O_CLOEXEC)
            if _identity(found) != self._made[name]:  # the folder was cleared, and somebody else records there
                os.close(found)
                raise FileNotFoundError(errno.ENOENT, "another file has taken its place", os.path.join(self.path, name))
            self._open[name] = found
        return found


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


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
