"""Shards: every item lies in exactly one, whoever asks."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ascend_sn.cluster.shards import Shard
from ascend_sn.errors import UsageError

LAUNCHERS = ("SLURM_PROCID", "SLURM_NTASKS", "RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_RANK")


@given(items=st.lists(st.integers()), count=st.integers(1, 9))
def test_the_shards_share_all_items_out(items: list[int], count: int) -> None:
    shards = [Shard(number, count).of(items) for number in range(count)]

    assert sorted(item for shard in shards for item in shard) == sorted(items)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


def test_a_shard_is_named_from_zero() -> None:
    assert Shard.parsed("3/12") == Shard(3, 12)
    assert Shard(3, 12).name == "shard-03-of-12"
    assert Shard(0, 1).name == "shard-0-of-1"


@pytest.mark.parametrize("text", ["3", "3/3", "-1/3", "a/b", "1/0", "0.5/2", ""])
def test_what_names_no_shard_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="i/n"):
        Shard.parsed(text)


def test_far_too_many_shards_are_refused_in_one_short_line() -> None:
    for count in ("100001", "1" + "0" * 5_000):
        with pytest.raises(UsageError, match="at most 100000 shards") as refused:
            Shard.parsed(f"0/{count}")
        assert len(str(refused.value)) < 100
    with pytest.raises(UsageError, match="i/n"):
        Shard.parsed("9" * 5_000 + "/8")

    assert Shard.parsed("00099999/100000") == Shard(99_999, 100_000)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"SLURM_PROCID": "5", "SLURM_NTASKS": "8"}, Shard(5, 8)),
        ({"RANK": "0", "WORLD_SIZE": "2"}, Shard(0, 2)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}, Shard(1, 4)),
        ({"PMI_RANK": "1", "PMI_SIZE": "4"}, Shard(1, 4)),
        ({"SLURM_PROCID": "9", "SLURM_NTASKS": "8", "RANK": "1", "WORLD_SIZE": "2"}, Shard(1, 2)),
    ],
)
def test_the_launcher_says_which(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: Shard) -> None:
    for name in LAUNCHERS:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert Shard.parsed("auto") == expected


def test_without_a_launcher_auto_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in LAUNCHERS:
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(UsageError, match="SLURM_PROCID"):
        Shard.parsed("auto")
