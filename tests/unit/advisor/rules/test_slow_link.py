"""R-COMM-5: one link, sender or receiver that is slower than its peers."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.advisor.message import Message
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.advisor.rules.calls import MS, add_links, job

PAIRS = [(src, dst) for src in range(4) for dst in range(4) if src != dst]


def linked(slow: dict[tuple[int, int], float], steps: int = 1) -> DuckDBPyConnection:
    db = job([{"transit_ns": 20 * MS}])
    add_links(db, {**dict.fromkeys(PAIRS, 20.0), **slow}, steps=steps)
    return db


def test_a_slow_pair_is_named_and_priced() -> None:
    finding = found(linked({(1, 3): 10.0}), "R-COMM-5")

    # At half the speed: the collectives would take half as long without it.
    assert finding is not None
    assert finding.message.params["who"] == Message("link.link", {"src": 1, "dst": 3})
    assert finding.location.ranks == (1, 3)
    assert finding.gain is not None
    assert finding.gain.expected_ns == 10 * MS
    assert 0 < finding.gain.low_ns <= 5 * MS


def test_a_pair_that_is_slow_both_ways_is_one_culprit() -> None:
    db = linked({(1, 3): 10.0, (3, 1): 10.0})

    (finding,) = advised(db, "R-COMM-5").findings

    assert finding.message.params["who"] == Message("link.link", {"src": 1, "dst": 3})
    assert finding.location.ranks == (1, 3)


def test_what_the_next_slowest_link_takes_stays() -> None:
    # Of the other links one takes 80 % of the slow one's time, though it moves its bytes as usual.
    db = linked({(1, 3): 10.0})
    db.execute(
        "update link set dur_ns = 1.6 * dur_ns, size_bytes = 1.6 * size_bytes where src_rank = 0 and dst_rank = 2"
    )

    finding = found(db, "R-COMM-5")

    assert finding is not None
    assert finding.gain is not None
    assert finding.gain.expected_ns == 4 * MS


def test_a_slow_sender_is_told_from_a_slow_link() -> None:
    finding = found(linked({(2, 0): 10.0, (2, 1): 10.0, (2, 3): 10.0}), "R-COMM-5")

    assert finding is not None
    assert finding.message.params["who"] == Message("link.sender", {"src": 2, "dst": 0})
    assert finding.location.ranks == (2,)


def test_links_that_differ_by_a_percent_are_alike() -> None:
    assert advised(linked({(1, 3): 19.8}), "R-COMM-5").quiet == ("R-COMM-5",)


def test_a_link_that_was_slow_once_is_not_reported() -> None:
    db = linked({}, steps=10)
    # In one of ten steps the pair took ten times as long, so that it is slow on the whole.
    db.execute("update link set dur_ns = dur_ns * 20 where src_rank = 1 and dst_rank = 3 and step = 12")

    assert suppressed(db, "R-COMM-5") == ["suppressed.not-persistent"]


def test_three_links_are_too_few_to_compare() -> None:
    db = job([{"transit_ns": 20 * MS}])
    add_links(db, {(0, 1): 20.0, (1, 0): 20.0, (0, 2): 2.0})

    assert advised(db, "R-COMM-5").quiet == ("R-COMM-5",)


def test_a_rank_that_all_slow_links_have_in_common_is_one_culprit() -> None:
    db = linked({(1, 3): 10.0, (3, 2): 10.0})

    advice = found(db, "R-COMM-5")

    assert advice is not None
    assert advice.message.params["who"] == Message("link.rank", {"rank": 3})
    assert advice.location.ranks == (3,)
    assert len(advised(db, "R-COMM-5").findings) == 1


def test_slow_links_without_a_rank_in_common_are_culprits_of_their_own() -> None:
    db = linked({(0, 1): 10.0, (2, 3): 10.0})

    named = [one.message.params["who"] for one in advised(db, "R-COMM-5").findings]

    assert named == [Message("link.link", {"src": 0, "dst": 1}), Message("link.link", {"src": 2, "dst": 3})]
