"""Profiles of one job are found to belong together, and strangers apart."""

from __future__ import annotations

from msgspec import structs

from ascend_sn.model.manifest import ManifestProfile
from ascend_sn.store.jobs import TOGETHER_NS, name_jobs

HOUR_NS = 3600 * 1_000_000_000


def profiles(
    *described: tuple[str, int | None, int | None], kind: str = "npu", world: int | None = 4
) -> list[ManifestProfile]:
    """Profiles from (source, rank, start in ns), numbered in order."""
    return [
        ManifestProfile(
            profile_id=number,
            rank=rank,
            host=None,
            pid=None,
            start_ns=start,
            source=source,
            format="drawn",
            key="",
            tables={},
            device_kind=kind,
            world_size=world,
        )
        for number, (source, rank, start) in enumerate(described)
    ]


def test_ranks_in_one_folder_are_one_job_without_a_name() -> None:
    found = name_jobs(profiles(("rank0", 0, 0), ("rank1", 1, 5 * HOUR_NS)))

    assert found == {0: "", 1: ""}


def test_hosts_with_folders_of_their_own_are_one_job() -> None:
    found = name_jobs(profiles(("run/hostA/rank0", 0, 0), ("run/hostB/rank1", 1, 1)))

    assert found == {0: "", 1: ""}


def test_a_rank_that_comes_again_in_a_folder_begins_another_job() -> None:
    found = name_jobs(profiles(("a/r0_first", 0, 0), ("a/r1_first", 1, 1), ("a/r0_again", 0, 9), ("a/r1_again", 1, 10)))

    assert found == {0: "a/r0_first", 1: "a/r0_first", 2: "a/r0_again", 3: "a/r0_again"}


def test_the_same_ranks_in_two_folders_are_two_jobs() -> None:
    found = name_jobs(profiles(("base/rank0", 0, 0), ("candidate/rank0", 0, 1)))

    assert found == {0: "base", 1: "candidate"}


def test_folders_captured_hours_apart_are_two_jobs() -> None:
    found = name_jobs(profiles(("a/rank0", 0, 0), ("b/rank1", 1, TOGETHER_NS + 1)))

    assert found == {0: "a", 1: "b"}


def test_folders_captured_within_ten_minutes_are_one_job() -> None:
    found = name_jobs(profiles(("a/rank0", 0, 0), ("b/rank1", 1, TOGETHER_NS)))

    assert found == {0: "", 1: ""}


def test_captures_without_ranks_in_folders_of_their_own_are_strangers() -> None:
    found = name_jobs(profiles(("a/trace.json", None, 0), ("b/trace.json", None, 1)))

    assert found == {0: "a", 1: "b"}


def test_devices_of_two_kinds_in_one_folder_are_two_jobs() -> None:
    gpu, npu = profiles(("gpu.json", 0, 0), kind="cuda")[0], profiles(("x", 0, 0), ("npu", 1, 0))[1]

    found = name_jobs([gpu, npu])

    assert found == {0: "gpu.json", 1: "npu"}


def test_captures_without_ranks_in_one_folder_are_strangers() -> None:
    found = name_jobs(profiles(("one.json", None, 0), ("two.json", None, 1), world=None))

    assert found == {0: "one.json", 1: "two.json"}


def test_captures_without_ranks_of_different_devices_are_one_job() -> None:
    first, second = profiles(("prof", None, 0), ("prof", None, 0), world=None)

    found = name_jobs([structs.replace(first, device_id=0), structs.replace(second, device_id=1)])

    assert found == {0: "", 1: ""}


def test_jobs_of_one_source_are_numbered() -> None:
    found = name_jobs(profiles(("db", None, 0), ("db", None, 1), world=None))

    assert found == {0: "db", 1: "db:2"}


def test_no_profiles_are_no_jobs() -> None:
    assert name_jobs([]) == {}
