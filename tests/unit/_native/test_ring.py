from __future__ import annotations

import gc
import os
import signal
import struct
import subprocess
import sys
import threading
import weakref
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ascend_sn._native.ring import CLOSED, FULL, HALF_FULL, KEPT, NO_SPAN, RECORD, Ring
from ascend_sn._native.span_calls import SpanCalls, own_calls

Row = tuple[int, int, int, int, int, int, int]

SPAN = 16


def rows(records: bytes) -> list[Row]:
    return list(struct.iter_unpack(RECORD, records))


@pytest.fixture
def ring(tmp_path: Path) -> Ring:
    return Ring.create(tmp_path / "spans.ring", 8)


def test_a_row_has_44_bytes_and_keeps_its_values(ring: Ring) -> None:
    row = (255, -3, 2**31 - 1, 2**63 - 1, -(2**63), -1, 1_736_408_883_704_643_212)

    assert ring.append(*row) == KEPT
    assert struct.calcsize(RECORD) == 44
    assert rows(ring.drain()) == [row]
    assert rows(ring.drain()) == []


def test_a_span_is_stamped_on_the_rings_clock(ring: Ring) -> None:
    before = ring.now()
    ring.begin(5, SPAN, 100, 7)
    answer = ring.end(5)
    after = ring.now()

    ((kind, thread, name_id, ts_ns, dur_ns, value, ref),) = rows(ring.drain())

    assert answer == KEPT
    assert (kind, thread, name_id, value, ref) == (SPAN, threading.get_native_id(), 5, 100, 7)
    assert before <= ts_ns <= ts_ns + dur_ns <= after


def test_the_innermost_span_of_a_name_ends(ring: Ring) -> None:
    for name, value in ((1, 10), (2, 20), (1, 30)):
        ring.begin(name, SPAN, value)

    answers = [ring.end(2), ring.end(1), ring.end(1), ring.end(1)]

    assert answers == [KEPT, KEPT, KEPT, NO_SPAN]
    assert [row[5] for row in rows(ring.drain())] == [20, 30, 10]


def test_names_given_as_texts_are_numbered_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def number(name: str) -> int:
        asked.append(name)
        return 40 + len(asked)

    ring = Ring.create(tmp_path / "spans.ring", 8, number=number)
    for name in ("forward", "backward", "forward"):
        ring.begin(name, SPAN)
        ring.end(name)

    assert asked == ["forward", "backward"]
    assert [row[2] for row in rows(ring.drain())] == [41, 42, 41]


def test_a_name_that_cannot_be_numbered_raises_and_records_nothing(tmp_path: Path) -> None:
    def number(name: str) -> int:
        raise KeyError(name)

    ring = Ring.create(tmp_path / "spans.ring", 8, number=number)

    with pytest.raises(KeyError):
        ring.begin("x", SPAN)
    assert ring.take_open(0, 0) == b""


def test_a_full_ring_drops_and_counts_and_never_waits(ring: Ring) -> None:
    answers = [ring.append(1, 0, n, 0, 0, 0, 0) for n in range(10)]

    assert answers == [KEPT] * 3 + [HALF_FULL] + [KEPT] * 4 + [FULL] * 2
    assert len(ring) == 8
    assert ring.take_dropped() == 2
    assert ring.take_dropped() == 0
    assert [row[2] for row in rows(ring.drain())] == list(range(8))
    assert ring.append(1, 0, 99, 0, 0, 0, 0) == KEPT


def test_rows_stay_until_they_are_released(ring: Ring) -> None:
    for n in range(5):
        ring.append(1, 0, n, 0, 0, 0, 0)

    first, again = ring.peek(), ring.peek()
    ring.release(3)

    assert first == again
    assert ring.position == 3
    assert [row[2] for row in rows(ring.peek())] == [3, 4]
    with pytest.raises(ValueError, match="finished"):
        ring.release(3)


def test_rows_are_handed_out_as_columns(ring: Ring) -> None:
    ring.append(1, 2, 3, 4, 5, 6, 7)
    ring.append(255, -2, -3, -4, -5, -6, -7)

    columns = ring.peek_columns()

    assert [column.format for column in columns] == list("Biiqqqq")
    assert [column.tolist() for column in columns] == [[1, 255]] + [[n, -n] for n in range(2, 8)]
    assert [column.tolist() for column in ring.peek_columns(1)] == [[1]] + [[n] for n in range(2, 8)]


def test_open_spans_of_all_threads_are_cut(ring: Ring) -> None:
    started = threading.Barrier(2)
    stop = threading.Event()

    def other() -> None:
        ring.begin(9, SPAN)
        started.wait()
        stop.wait()

    thread = threading.Thread(target=other)
    thread.start()
    started.wait()
    ring.begin(1, SPAN)
    ring.begin(2, SPAN)
    end_ns = ring.now()
    found = rows(ring.take_open(end_ns, 64))
    stop.set()
    thread.join()

    assert sorted(row[2] for row in found) == [1, 2, 9]
    assert all(row[0] == SPAN | 64 and row[3] + row[4] == end_ns for row in found)
    assert ring.end(1) == NO_SPAN


def test_spans_nested_deeper_than_the_file_holds_are_recorded(tmp_path: Path) -> None:
    ring = Ring.create(tmp_path / "spans.ring", 1000)
    for name in range(200):
        ring.begin(name, SPAN)

    answers = {ring.end(name) for name in reversed(range(200))}

    assert answers <= {KEPT, HALF_FULL}
    assert [row[2] for row in rows(ring.drain())] == list(reversed(range(200)))


def test_many_threads_lose_nothing(tmp_path: Path) -> None:
    ring = Ring.create(tmp_path / "spans.ring", 400_000)

    def record(thread: int) -> None:
        for n in range(300):
            ring.begin(thread, SPAN, n)
            ring.end(thread)

    threads = [threading.Thread(target=record, args=(number,)) for number in range(300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = rows(ring.drain())
    assert sorted((row[2], row[5]) for row in found) == [(t, n) for t in range(300) for n in range(300)]
    assert ring.take_dropped() == 0


def test_what_a_killed_process_recorded_is_recovered(tmp_path: Path) -> None:
    path = tmp_path / "spans.ring"
    script = f"""
import os, signal
from ascend_sn._native.ring import Ring
ring = Ring.create({str(path)!r}, 64)
for n in range(10):
    ring.append(1, 2, n, 100 + n, 5, 0, 0)
ring.drain()
for n in range(10, 13):
    ring.append(1, 2, n, 100 + n, 5, 0, 0)
ring.begin(50, 16)
ring.begin(51, 17, 1024)
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", script], check=False)

    found = Ring.recover(path)

    assert ended.returncode == -signal.SIGKILL
    assert [row[2] for row in rows(found.records)] == [10, 11, 12]
    assert found.first == 10
    assert [(row[0], row[2], row[4], row[5]) for row in rows(found.open_spans)] == [
        (16, 50, -1, -1),
        (17, 51, -1, 1024),
    ]
    assert (found.dropped, found.unfinished) == (0, 0)


def test_a_row_that_was_not_finished_is_counted_and_the_others_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "spans.ring"
    ring = Ring.create(path, 4)
    for n in range(6):
        ring.append(1, 0, n, 0, 0, 0, 0)
        if n == 2:
            ring.drain()
    ring.close()
    content = bytearray(path.read_bytes())
    slot = len(content) - 4 * 48 + 0 * 48  # row 4 lies in slot 0
    content[slot : slot + 4] = b"\0\0\0\0"
    path.write_bytes(content)

    found = Ring.recover(path)

    assert [row[2] for row in rows(found.records)] == [3, 5]
    assert found.unfinished == 1


@given(st.binary(max_size=300), st.integers(0, 600_000))
def test_damaged_files_are_refused_or_read(junk: bytes, at: int) -> None:
    path = Path(os.environ["XDG_CACHE_HOME"]) / "damaged.ring"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    Ring.create(path, 4).append(1, 2, 3, 4, 5, 6, 7)
    content = bytearray(path.read_bytes())
    at %= len(content) if len(junk) % 2 else 256
    content[at : at + len(junk)] = junk
    path.write_bytes(content[: len(content) - len(junk) % 3])

    try:
        found = Ring.recover(path)
    except ValueError:
        return
    assert len(found.records) % 44 == 0


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="no span ring"):
        Ring.recover(path)
    with pytest.raises(FileNotFoundError):
        Ring.recover(tmp_path / "absent")


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "spans.ring"
    path.write_bytes(b"precious")

    with pytest.raises(FileExistsError):
        Ring.create(path, 8)
    assert path.read_bytes() == b"precious"


@pytest.mark.parametrize("capacity", [-1, 0, 1, 2**31])
def test_capacities_out_of_range_are_refused(tmp_path: Path, capacity: int) -> None:
    with pytest.raises(ValueError, match="capacity"):
        Ring.create(tmp_path / "spans.ring", capacity)
    assert list(tmp_path.iterdir()) == []


def test_a_closed_ring_says_so(ring: Ring) -> None:
    ring.begin(1, SPAN)
    ring.close()
    ring.close()

    for call in (ring.peek, ring.take_dropped, lambda: ring.take_open(0, 0)):
        with pytest.raises(ValueError, match="closed"):
            call()
    ring.begin(1, SPAN)
    assert (ring.end(1), ring.append(1, 2, 3, 4, 5, 6, 7)) == (CLOSED, CLOSED)


def test_a_child_process_does_not_write_into_its_parents_ring(tmp_path: Path) -> None:
    script = f"""
import os
from ascend_sn._native.ring import Ring
ring = Ring.create({str(tmp_path / "spans.ring")!r}, 8)
ring.append(1, 0, 1, 0, 0, 0, 0)
child = os.fork()
if child == 0:
    ring.begin(2, 16)
    ended = ring.end(2)
    appended = ring.append(1, 0, 2, 0, 0, 0, 0)
    os._exit(0 if (ended, appended, ring.drain()) == (4, 4, b"") else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(ring))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["0", "1"]


def test_an_unused_ring_is_given_back(tmp_path: Path) -> None:
    class Numbers:
        def __init__(self) -> None:
            self.ring = Ring.create(tmp_path / "spans.ring", 8, number=self.number)

        def number(self, name: str) -> int:
            return len(name)

    numbers = Numbers()
    numbers.ring.begin("abc", SPAN)
    gone = weakref.ref(numbers)
    del numbers
    gc.collect()

    assert gone() is None


def test_the_ring_needs_no_numpy() -> None:
    script = "import sys, ascend_sn._native.ring; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


@own_calls
class Calls(SpanCalls):
    """Takes the calls that are not done in the compiled core."""

    def __init__(self) -> None:
        self.passed: list[object] = []

    def _start_op(self, *args: object, **named: object) -> None:
        self.passed.append(("start", args, named))

    def _stop_op(self, *args: object, **named: object) -> None:
        self.passed.append(("stop", args, named))

    def wake(self) -> None:
        self.passed.append("wake")


def named_ring(tmp_path: Path, capacity: int = 8) -> tuple[Ring, Calls]:
    """A ring that knows the names a and b, and calls bound to it; this thread has recorded before."""
    ring, calls = Ring.create(tmp_path / "spans.ring", capacity, number=len, names={"a": 1, "b": 2}), Calls()
    ring.begin("a", SPAN)
    ring.end("a")
    ring.drain()
    ring.bind(calls, SPAN, calls.wake)
    return ring, calls


def test_plain_calls_are_done_at_once(tmp_path: Path) -> None:
    ring, calls = named_ring(tmp_path)

    before = ring.now()
    calls.start_op("a")
    calls.start_op("b")
    calls.stop_op("a")  # the outer one first: both are kept
    calls.stop_op("b")
    after = ring.now()

    found = rows(ring.drain())
    assert [(row[0], row[2], row[5], row[6]) for row in found] == [(SPAN, 1, -1, -1), (SPAN, 2, -1, -1)]
    assert all(before <= row[3] <= row[3] + row[4] <= after for row in found)
    assert calls.passed == []


def test_calls_out_of_the_ordinary_are_passed_on_as_they_came(tmp_path: Path) -> None:
    _, calls = named_ring(tmp_path)
    other = threading.Thread(target=calls.start_op, args=("a",))  # has not recorded before

    calls.start_op("a", kind="data")
    calls.start_op("a", "data")
    calls.start_op("new")
    calls.start_op(5)  # type: ignore[arg-type]
    calls.start_op()  # type: ignore[call-arg]
    calls.stop_op("a")
    calls.stop_op(name="a")
    other.start()
    other.join()

    assert calls.passed == [
        ("start", ("a",), {"kind": "data"}),
        ("start", ("a", "data"), {}),
        ("start", ("new",), {}),
        ("start", (5,), {}),
        ("start", (), {}),
        ("stop", ("a",), {}),
        ("stop", (), {"name": "a"}),
        ("start", ("a",), {}),
    ]


def test_calls_that_are_passed_on_leave_nothing_behind() -> None:
    class Silent(SpanCalls):
        def _start_op(self, name: str, size_bytes: int) -> None:
            return

    calls = Silent()
    between: deque[str] = deque(maxlen=5_000)  # of the size of a method's name, so that places in memory change

    def pass_on(count: int) -> int:
        for number in range(count):
            between.append(f"{number:09d}")
            calls.start_op("a", size_bytes=1)
        gc.collect()
        return sys.getallocatedblocks()

    # A name made anew for each call came to lie in hundreds of the 4096 places of the interpreter's attribute cache.
    held = pass_on(5_000)
    assert pass_on(50_000) - held < 20


def test_a_call_that_finds_no_room_is_passed_on_and_its_span_stays_open(tmp_path: Path) -> None:
    ring, calls = named_ring(tmp_path, capacity=2)
    for _ in range(3):
        calls.start_op("a")
        calls.stop_op("a")

    assert calls.passed == ["wake", ("stop", ("a",), {})]
    assert len(rows(ring.take_open(ring.now(), 0))) == 1
    assert ring.take_dropped() == 0


def test_calls_of_a_closed_ring_are_passed_on(tmp_path: Path) -> None:
    ring, calls = named_ring(tmp_path)

    ring.close()
    calls.start_op("a")
    calls.stop_op("a")

    assert calls.passed == [("start", ("a",), {}), ("stop", ("a",), {})]


def test_what_a_passed_on_call_raises_comes_back() -> None:
    class Refusing(SpanCalls):
        def _start_op(self, name: str) -> None:
            raise TypeError(name)

    with pytest.raises(TypeError, match="anything"):
        Refusing().start_op("anything")


def test_calls_are_passed_on_before_and_after_they_are_bound(tmp_path: Path) -> None:
    calls = Calls()
    calls.start_op("a")
    ring, other = named_ring(tmp_path)
    ring.bind(calls, SPAN, calls.wake)
    calls.start_op("a")
    other.stop_op("a")  # both are bound to this ring
    calls._unbind()
    calls.stop_op("a")

    assert calls.passed == [("start", ("a",), {}), ("stop", ("a",), {})]
    assert len(rows(ring.drain())) == 1


def test_calls_go_with_their_ring() -> None:
    ring, calls = Ring.create(None, 8, number=len, names={"a": 1}), Calls()
    ring.bind(calls, SPAN, calls.wake)  # each holds the other
    gone = weakref.ref(calls)

    del calls, ring
    gc.collect()

    assert gone() is None


def test_what_cannot_be_bound_is_refused(tmp_path: Path) -> None:
    nameless = Ring.create(tmp_path / "nameless.ring", 8)

    with pytest.raises(TypeError, match="a ring with names"):
        nameless.bind(Calls(), SPAN, str)
    with pytest.raises(TypeError, match="a ring with names"):
        Calls()._bind("no ring", SPAN, str)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="derived from SpanCalls"):
        own_calls(str)  # type: ignore[type-var]


def test_rings_that_take_turns_on_a_thread_keep_their_spans_apart(tmp_path: Path) -> None:
    rings = [Ring.create(tmp_path / f"{number}.ring", 8) for number in range(6)]

    for ring in rings:
        ring.begin(1, SPAN)
    answers = [ring.end(1) for ring in rings] + [ring.end(1) for ring in rings]

    assert answers == [KEPT] * 6 + [NO_SPAN] * 6


def test_a_row_may_have_another_number_than_the_name_that_ends_it(ring: Ring) -> None:
    ring.begin(1, SPAN, 4096, 0, 77)

    assert ring.end(77) == NO_SPAN
    assert ring.end(1) == KEPT
    assert [row[2] for row in rows(ring.drain())] == [77]


def test_a_span_may_end_at_a_given_moment(ring: Ring) -> None:
    ring.begin(1, SPAN)
    end_ns = ring.now()

    ring.end(1, end_ns)

    ((_, _, _, ts_ns, dur_ns, _, _),) = rows(ring.drain())
    assert ts_ns + dur_ns == end_ns


def test_open_spans_of_one_thread_are_cut(ring: Ring) -> None:
    ring.begin(1, SPAN)

    assert rows(ring.take_open(ring.now(), 64, threading.get_native_id() + 1)) == []
    assert len(rows(ring.take_open(ring.now(), 64, threading.get_native_id()))) == 1


def test_a_number_below_zero_is_asked_for_every_time(tmp_path: Path) -> None:
    names: dict[str, int] = {}
    ring = Ring.create(tmp_path / "spans.ring", 8, number=lambda _: -1, names=names)

    for name in ("a", "b"):
        ring.begin(name, SPAN)
        ring.end(name)

    assert names == {}
    assert [row[2] for row in rows(ring.drain())] == [-1, -1]


def test_a_ring_in_memory_leaves_no_file(tmp_path: Path) -> None:
    ring = Ring.create(None, 8)

    ring.begin(1, SPAN)
    ring.end(1)

    assert [row[2] for row in rows(ring.drain())] == [1]
    assert list(tmp_path.iterdir()) == []
