"""Which profiles of an input belong to one job, and what the job is called.

A folder may hold one run of many ranks, or a collection of runs that have nothing to do with each other;
ranks are compared only within a job. Profiles that lie in the same folder are taken as one job, and so are
folders that complement each other: the same kind of device and the same world size, no rank twice, captured
at about the same time. A rank that occurs twice in a folder begins a later job (a restart, a second capture),
and captures that name no rank belong together only when their devices are told apart.
"""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath
from typing import Final

import msgspec

from ascend_sn.model.manifest import Manifest, ManifestProfile

__all__ = ["TOGETHER_NS", "jobs_of", "name_jobs", "newest_job"]

TOGETHER_NS: Final = 600 * 1_000_000_000
"""Captures of one job start within this time of each other (ten minutes), whatever their folders."""


def jobs_of(manifest: Manifest) -> tuple[str, ...]:
    """Return the names of the jobs of a run, by their first profile; one empty name where there is one job only."""
    return tuple(dict.fromkeys(profile.job for profile in manifest.profiles))


def newest_job(manifest: Manifest) -> str:
    """Return the name of the job that started last; where no starts are known, the last one in order of name."""
    starts: dict[str, int] = {}
    for profile in manifest.profiles:
        starts[profile.job] = max(starts.get(profile.job, -1), profile.start_ns or -1)
    return max(starts, key=lambda job: (starts[job], job))


class _Job(msgspec.Struct):
    """Profiles found to belong together."""

    folder: str
    members: list[ManifestProfile] = msgspec.field(default_factory=list)

    @property
    def ranks(self) -> set[int]:
        return {profile.rank for profile in self.members if profile.rank is not None and not profile.rank_assumed}

    @property
    def start_ns(self) -> int | None:
        return min((profile.start_ns for profile in self.members if profile.start_ns is not None), default=None)

    def kind(self) -> tuple[str, int | None]:
        return self.members[0].device_kind, self.members[0].world_size

    def takes(self, profile: ManifestProfile) -> bool:
        """Whether a profile of the same folder can be one more rank of this job."""
        if self.kind() != (profile.device_kind, profile.world_size):
            return False
        if profile.rank is not None:
            return profile.rank not in self.ranks
        devices = {member.device_id for member in self.members}
        return profile.device_id is not None and None not in devices and profile.device_id not in devices

    def completes(self, other: _Job) -> bool:
        """Whether two folders look like parts of one job."""
        if self.kind() != other.kind() or not self.ranks or not other.ranks or self.ranks & other.ranks:
            return False
        if self.start_ns is None or other.start_ns is None:
            return False
        return abs(self.start_ns - other.start_ns) <= TOGETHER_NS


def name_jobs(profiles: list[ManifestProfile]) -> dict[int, str]:
    """Return the name of each profile's job, by profile_id; the name of an only job is empty.

    A job is named by its folder relative to the input; where a folder holds several, or is the input itself, by
    its first source.
    """
    jobs: list[_Job] = []
    for profile in sorted(profiles, key=lambda profile: (profile.start_ns or 0, profile.profile_id)):
        folder = str(PurePosixPath(profile.source).parent)
        home = next((job for job in reversed(jobs) if job.folder == folder), None)
        if home is None or not home.takes(profile):
            home = _Job(folder)
            jobs.append(home)
        home.members.append(profile)
    jobs = _completed(jobs)
    if len(jobs) == 1:
        return {profile.profile_id: "" for profile in profiles}
    names: dict[int, str] = {}
    folders = Counter(job.folder for job in jobs)
    for job in jobs:
        is_shared = job.folder == "." or folders[job.folder] > 1
        name = _unused(job.members[0].source if is_shared else job.folder, set(names.values()))
        names.update({profile.profile_id: name for profile in job.members})
    return names


def _unused(name: str, taken: set[str]) -> str:
    """One source may hold several jobs; the later ones are numbered."""
    number = 1
    while (numbered := name if number == 1 else f"{name}:{number}") in taken:
        number += 1
    return numbered


def _completed(jobs: list[_Job]) -> list[_Job]:
    """Join folders that complement each other, the first one giving the name of their common parent."""
    joined: list[_Job] = []
    for job in jobs:
        home = next((other for other in joined if other.folder != job.folder and other.completes(job)), None)
        if home is None:
            joined.append(job)
            continue
        home.members.extend(job.members)
        home.folder = _common(home.folder, job.folder)
    return joined


def _common(first: str, second: str) -> str:
    parts = []
    for one, other in zip(PurePosixPath(first).parts, PurePosixPath(second).parts, strict=False):
        if one != other:
            break
        parts.append(one)
    return str(PurePosixPath(*parts))
