"""The ways of docs/how-to/clusters.md, run from the page's own blocks on a simulated job: all give the same tables."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from ascend_sn.model.tables import BY_NAME
from ascend_sn.store import open_run
from benchmarks.cluster_program import Model
from benchmarks.cluster_shape import Shape
from benchmarks.cluster_timing import Plan, simulate
from benchmarks.simulated_cluster import write_job
from tests.docs.blocks import REPOSITORY, SHELL, blocks
from tests.integration.dask_cluster import dask_cluster

PAGE: Final = REPOSITORY / "docs" / "how-to" / "clusters.md"
LINES: Final = [line for block in blocks(PAGE) if block.language in SHELL for line in block.text.splitlines()]
HOST: Final = "head"
RANKS: Final = 6

Tables = dict[str, list[str]]


def told(*words: str) -> str:
    """The one line of the page that holds all the words."""
    (line,) = [line for line in LINES if all(word in line for word in words)]
    return line


def after_launcher(line: str) -> list[str]:
    """The words of a line from `ascend-sn` on."""
    words = shlex.split(line)
    return words[words.index("ascend-sn") + 1 :]


def ran(words: list[str], place: Path, cache: str, **variables: str) -> str:
    """Run a command in a folder, with a cache of its own, and return what it printed."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(place / cache), **variables}
    done = subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout


def ascend_sn(words: list[str], place: Path, cache: str, **variables: str) -> str:
    return ran([sys.executable, "-m", "ascend_sn", *words], place, cache, **variables)


def tables(folder: Path, cache: Path) -> Tables:
    """All rows of all tables."""
    with open_run(folder, cache_dir=cache) as run:
        return {name: sorted(map(repr, run.sql(f"select * from {name}").fetchall())) for name in BY_NAME}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `cluster/` is a simulated job of six ranks."""
    folder = tmp_path_factory.mktemp("page")
    plan = Plan(shape=Shape(dp=3, tp=2, ranks_per_host=2), model=Model(layers=1, micro_batches=1), steps=2)
    write_job(simulate(plan), folder / "cluster")
    (folder / "cluster" / "truth.json").unlink()
    return folder


@pytest.fixture(scope="module")
def of_one_machine(place: Path) -> Tables:
    """What the way of one machine gives."""
    ascend_sn(after_launcher(told("ingest", "--workers 8")), place, "one")
    found = tables(place / "run", place / "opened")
    assert len(found["profile"]) == RANKS
    assert found["damage"] == []
    return found


@pytest.fixture
def scheduler() -> Iterator[str]:
    """Address of a scheduler on loopback with two workers."""
    with dask_cluster() as found:
        yield found.address


def test_one_machine(place: Path, of_one_machine: Tables) -> None:
    of_input = ascend_sn(after_launcher(told("analyze cluster/")), place, "read")
    of_run = ascend_sn(after_launcher(told("analyze run/")), place, "kept")

    assert f"{RANKS} of {RANKS} ranks" in of_input
    # But for the line that names what was opened, it makes no difference which of both it was.
    assert of_input.splitlines()[2:] == of_run.splitlines()[2:]


def test_dask(place: Path, of_one_machine: Tables, scheduler: str) -> None:
    words = after_launcher(told(f"tcp://{HOST}:8786"))
    address = words.index(f"tcp://{HOST}:8786")
    output = words.index("run/")
    words[address], words[output] = scheduler, "run-of-dask/"

    ascend_sn(words, place, "dask")

    assert tables(place / "run-of-dask", place / "opened") == of_one_machine


def test_a_dask_cluster_of_this_machine(place: Path, of_one_machine: Tables) -> None:
    ascend_sn(["ingest", "cluster/", "--output", "run-of-local/", "--scheduler", "local", "--workers", "2"], place, "l")

    assert "`--scheduler local --workers 8`" in PAGE.read_text(encoding="utf-8")
    assert tables(place / "run-of-local", place / "opened") == of_one_machine


def test_mpi(place: Path, of_one_machine: Tables) -> None:
    launcher = str(Path(sys.executable).with_name("mpiexec"))  # of MPICH, which tests install
    words = shlex.split(told("mpiexec"))
    assert words[:4] == ["mpiexec", "-n", "9", "python"]

    # Three processes: one that deals out, and two that read.
    words[words.index("run/")] = "run-of-mpi/"
    ran([launcher, "-n", "3", sys.executable, *words[4:]], place, "mpi", HYDRA_IFACE="lo")

    assert tables(place / "run-of-mpi", place / "opened") == of_one_machine


def test_a_process_that_mpi_did_not_start_says_so(place: Path) -> None:
    words = [sys.executable, "-m", "ascend_sn", "ingest", "cluster/", "--output", "run-of-nobody/", "--mpi"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=300, check=False)

    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "mpiexec -n N python -m mpi4py.futures -m ascend_sn" in done.stderr


def test_shards_of_a_launcher(place: Path, of_one_machine: Tables) -> None:
    words = shlex.split(told("srun"))
    assert words[:3] == ["srun", "--ntasks", "64"]

    # What Slurm sets for each task; every task with a cache of its own, as on a local disk.
    for number in range(4):
        ascend_sn(words[4:], place, f"node{number}", SLURM_PROCID=str(number), SLURM_NTASKS="4")

    assert sorted(path.name for path in (place / "shards").iterdir()) == [f"shard-{one}-of-4" for one in range(4)]
    assert tables(place / "shards", place / "opened") == of_one_machine
    said = ascend_sn(after_launcher(told("analyze shards/")), place, "gathered")
    of_input = ascend_sn(after_launcher(told("analyze cluster/")), place, "read")
    assert said.splitlines()[2:] == of_input.splitlines()[2:]


def test_every_command_of_the_page_is_run_here() -> None:
    # Three of one machine, two of Dask (of which one installs it), MPI, two of shards.
    assert len(LINES) == 8
