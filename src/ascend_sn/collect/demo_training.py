"""The training that `ascend-sn demo` records: a small numpy network on two processes.

Two ranks train on batches that they read from files, and sum their gradients over a socket. What there is to
find is real: the files of rank 1 are compressed, so it loads longer, and rank 0 waits for it in the first
all-reduce of every step; and no all-reduce runs beside computing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Sequence
from io import BytesIO
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ascend_sn.collect.demo_network import SIZES, Matrix, Network
from ascend_sn.collect.profiler import Profiler
from ascend_sn.errors import ProfilerError

__all__ = ["run_demo_training"]

WORLD_SIZE: Final = 2
STEPS: Final = 40
BATCH: Final = 256
FILES: Final = 5
COMPRESSED_RANK: Final = 1

_MEET_TIMEOUT_S: Final = 30.0
_TRAIN_TIMEOUT_S: Final = 120.0


def run_demo_training(output: Path) -> None:
    """Train with two processes, each recorded into a folder of its own below `output`.

    Raises:
        ProfilerError: A rank failed; the message holds the last line it wrote.
    """
    with tempfile.TemporaryDirectory(prefix="ascend-sn-demo-") as scratch:
        ranks = [_start_rank(rank, output, Path(scratch)) for rank in range(WORLD_SIZE)]
        try:
            _wait_for(ranks, Path(scratch))
        finally:
            for process in ranks:
                process.kill()  # nothing happens to one that has ended
                process.wait()


def _start_rank(rank: int, output: Path, scratch: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ascend_sn.collect.demo_training"]
    command += ["--output", str(output), "--scratch", str(scratch)]
    command += ["--rank", str(rank), "--world-size", str(WORLD_SIZE)]
    # One thread each: two ranks share the cores, and every moment of a rank is in its own spans.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with _errors_of(rank, scratch).open("wb") as errors:
        return subprocess.Popen(command, env={**os.environ, **threads}, stdout=subprocess.DEVNULL, stderr=errors)


def _wait_for(ranks: Sequence[subprocess.Popen[bytes]], scratch: Path) -> None:
    """Return when all ranks have ended well; one that failed lets the other wait for ever, so look at each."""
    deadline = monotonic() + _TRAIN_TIMEOUT_S
    while any(process.poll() is None for process in ranks) or any(process.returncode for process in ranks):
        for rank, process in enumerate(ranks):
            if process.poll():
                lines = _errors_of(rank, scratch).read_text(errors="replace").strip().splitlines()
                last = lines[-1] if lines else f"exit code {process.returncode}"
                raise ProfilerError(f"the demo's training failed on rank {rank}: {last}")
        if monotonic() > deadline:
            raise ProfilerError(f"the demo's training did not end within {_TRAIN_TIMEOUT_S:.0f} s")
        sleep(0.02)


def _errors_of(rank: int, scratch: Path) -> Path:
    return scratch / f"rank{rank}.stderr"


class _Peer:
    """The other rank, at the far end of a socket."""

    def __init__(self, rank: int, address: str) -> None:
        self._rank = rank
        self._connection: Connection[Any, Any] = _listen(address) if rank == 0 else _connect(address)

    def sum(self, gradient: Matrix) -> Matrix:
        """Return the sum of both ranks' gradients; each waits until the other has come this far."""
        if self._rank == 0:
            self._connection.send_bytes(gradient.tobytes())
            other = self._connection.recv_bytes()
        else:
            other = self._connection.recv_bytes()
            self._connection.send_bytes(gradient.tobytes())
        return gradient + np.frombuffer(other, np.float32).reshape(gradient.shape)


def _listen(address: str) -> Connection[Any, Any]:
    with Listener(address, family="AF_UNIX") as listener:
        return listener.accept()


def _connect(address: str) -> Connection[Any, Any]:
    deadline = monotonic() + _MEET_TIMEOUT_S
    while True:
        try:
            return Client(address, family="AF_UNIX")
        except (FileNotFoundError, ConnectionRefusedError):
            if monotonic() > deadline:
                raise
            sleep(0.01)


def _train(rank: int, world_size: int, output: Path, scratch: Path) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world_size), LOCAL_RANK=str(rank))  # as a launcher does
    files = _write_batches(rank, scratch)
    profiler = Profiler(output_path=output, enable_memory=True)
    network = Network(profiler)
    peer = _Peer(rank, str(scratch / "meeting-point"))
    with profiler:
        peer.sum(np.ones((1, 1), np.float32))  # both are ready to go
        for step in range(STEPS):
            profiler.step()
            _step(profiler, network, peer, files[step % len(files)], world_size)
        profiler.step()
        # The same on every rank, to the last bit, when the gradients were really shared.
        checksum = sum(float(weights.sum(dtype=np.float64)) for weights in network.weights)
        profiler.log_metric("weights_checksum", checksum)


def _step(profiler: Profiler, network: Network, peer: _Peer, file: Path, world_size: int) -> None:
    with profiler.op("dataloader"):
        images, labels = _read_batch(file)
    with profiler.op("forward"):
        probabilities = network.forward(images)
    with profiler.op("backward"):
        gradients = network.backward(probabilities, labels)
    summed = []
    for gradient in gradients:
        with profiler.op(
            "all_reduce", "communication", size_bytes=gradient.nbytes, ranks=range(world_size), dtype="float32"
        ):
            summed.append(peer.sum(gradient))
    with profiler.op("optimizer"):
        network.update([gradient / np.float32(world_size) for gradient in summed])
    chosen = probabilities[np.arange(len(labels)), labels]
    profiler.log_metric("loss", float(-np.log(np.maximum(chosen, 1e-9)).mean()))


def _write_batches(rank: int, scratch: Path) -> list[Path]:
    """Write the batches of a rank: noisy copies of one pattern per class, each row led by its class."""
    random = np.random.default_rng(seed=100 + rank)
    patterns = np.random.default_rng(seed=7).standard_normal((SIZES[-1], SIZES[0]))
    files = []
    for number in range(FILES):
        labels = random.integers(0, SIZES[-1], BATCH)
        images = patterns[labels] + random.standard_normal((BATCH, SIZES[0]))
        packed = BytesIO()
        np.save(packed, np.hstack([labels[:, None], images]))
        data = packed.getvalue()
        files.append(scratch / f"rank{rank}-batch{number}.npy")
        files[-1].write_bytes(zlib.compress(data) if rank == COMPRESSED_RANK else data)
    return files


def _read_batch(file: Path) -> tuple[Matrix, npt.NDArray[np.int64]]:
    data = file.read_bytes()
    if not data.startswith(b"\x93NUMPY"):
        data = zlib.decompress(data)
    rows = np.load(BytesIO(data))
    return np.ascontiguousarray(rows[:, 1:], np.float32), rows[:, 0].astype(np.int64)


def _main() -> None:
    parser = argparse.ArgumentParser(description="One rank of the training that `ascend-sn demo` records.")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True, help="folder that both ranks share")
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--world-size", type=int, required=True, choices=[WORLD_SIZE])
    arguments = parser.parse_args()
    _train(arguments.rank, arguments.world_size, arguments.output, arguments.scratch)


if __name__ == "__main__":
    _main()
