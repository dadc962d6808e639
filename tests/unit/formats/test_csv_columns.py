from __future__ import annotations

import csv
import gc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ascend_sn.formats.csv_columns import (
    CsvColumns,
    float_cells,
    integer_cells,
    ns_cells,
    read_csv_columns,
    size_cells,
    text_cells,
)
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Nullable
from ascend_sn.model.units import decimal_text_to_int


def read(tmp_path: Path, content: bytes) -> tuple[CsvColumns | None, Ledger]:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    ledger = Ledger()
    return read_csv_columns(path, "table.csv", ledger), ledger


def plain(numbers: Nullable | None) -> list[int | float | None]:
    assert numbers is not None
    pairs = zip(numbers.values.tolist(), numbers.valid.tolist(), strict=True)
    return [value if ok else None for value, ok in pairs]


def test_byte_order_mark_carriage_returns_blank_lines_and_quoted_line_feeds(tmp_path: Path) -> None:
    table, ledger = read(tmp_path, b'\xef\xbb\xbfA, B \r\n1,"x\ny"\r\n\r\n2,z\r\n \r\n')

    assert table is not None
    assert {name: list(cells) for name, cells in table.columns.items()} == {"A": ["1", "2"], "B": ["x\ny", "z"]}
    assert [table.place(0), table.place(1)] == ["line 3", "line 5"]
    assert not ledger.entries


def test_a_column_by_any_of_its_names(tmp_path: Path) -> None:
    table, _ = read(tmp_path, b"Op Name,X\na,1\n")

    assert table is not None
    assert list(table.get("Name", "Op Name") or ()) == ["a"]
    assert table.get("Y") is None


def test_rows_of_another_width_are_left_out_and_counted(tmp_path: Path) -> None:
    table, ledger = read(tmp_path, b"A,B\n1,2\n3\n4,5,6\n7,8\n")

    assert table is not None
    assert list(table.columns["A"]) == ["1", "7"]
    assert table.place(1) == "line 5"
    (entry,) = ledger.entries
    assert (entry.kind, entry.place, entry.count) == ("row_width", "line 3", 2)


def test_damaged_text_is_counted_by_cell(tmp_path: Path) -> None:
    table, ledger = read(tmp_path, b"A,B\nx\xff,\xfe\ny,z\n")

    assert table is not None
    assert list(table.columns["A"]) == ["x\ufffd", "y"]
    assert [(entry.kind, entry.count) for entry in ledger.entries] == [("invalid_utf8", 2)]


def test_cells_beyond_the_parsers_limit(tmp_path: Path) -> None:
    before = csv.field_size_limit()

    table, ledger = read(tmp_path, b"A,B\n" + b"x" * 300_000 + b",1\n")

    assert table is not None
    assert len(table.columns["A"][0]) == 300_000
    assert csv.field_size_limit() == before
    assert not ledger.entries


@pytest.mark.parametrize("content", [b"", b"\n\n", b" \r\n"])
def test_an_empty_file_is_told(tmp_path: Path, content: bytes) -> None:
    table, ledger = read(tmp_path, content)

    assert table is None
    assert [entry.kind for entry in ledger.entries] == ["empty_file"]


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    ledger = Ledger()

    assert read_csv_columns(tmp_path / "none.csv", "none.csv", ledger) is None
    assert [entry.kind for entry in ledger.entries] == ["unreadable_file"]


def test_a_header_without_a_required_column_is_another_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("A\n1\n")
    ledger = Ledger()

    assert read_csv_columns(path, "t.csv", ledger, required=("Name",)) is None
    assert [(entry.kind, entry.example) for entry in ledger.entries] == [("unknown_header", "no column 'Name'")]


def test_times_in_all_the_ways_they_are_written() -> None:
    cells = [
        *("1736408883704643.212\t", '"1736408883704643.2"', "1695115378713661", "5.", "1.69512E+15", "", "N/A"),
        *("12.3456", "-3.5", "abc", "999999999999999999999", "0", "1.2.3", ".5"),
    ]

    assert plain(ns_cells(cells)) == [
        *(1_736_408_883_704_643_212, 1_736_408_883_704_643_200, 1_695_115_378_713_661_000, 5_000),
        *(1_695_120_000_000_000_000, None, None, 12_346, -3_500, None, None, 0, None, 500),
    ]


@given(st.lists(st.text("0123456789.-+eE\t\"' N/A\u00e9", max_size=22)), st.sampled_from([0, 3]))
def test_many_cells_give_what_each_gives_alone(cells: list[str], digits: int) -> None:
    found = ns_cells(cells) if digits else integer_cells(cells)

    assert plain(found) == [decimal_text_to_int(cell, digits) for cell in cells]


@given(st.lists(st.integers(0, 2**60), min_size=1))
def test_nanoseconds_survive_the_way_through_text(times: list[int]) -> None:
    assert plain(ns_cells([f"{time // 1000}.{time % 1000:03d}\t" for time in times])) == times


def test_numbers_and_what_is_none() -> None:
    assert plain(float_cells(["1.5\t", "N/A", "", "nan", "2e3"])) == [1.5, None, None, None, 2000.0]
    assert plain(float_cells(["1.5", "x", '"2"', "inf"])) == [1.5, None, 2.0, None]
    assert plain(float_cells([])) == []
    assert plain(float_cells(["1.5", "1e308", "x"], 1000)) == [1500.0, None, None]  # 1e311 is no number


def test_sizes_are_whole_and_fit_into_64_bits() -> None:
    cells = ["1.5", "0.0004", "-2", "1e308", "5e15", "N/A", "x"]

    # 5e15 KiB is 5.12e18, and 2^62 is 4.6e18.
    assert plain(size_cells(cells, 1024)) == [1536, 0, -2048, None, None, None, None]
    assert size_cells(None, 1024) is None


def test_text_without_quotes_and_absent_words() -> None:
    text = text_cells(['"4,8"', " N/A", "", "a\t", "a"])

    assert text is not None
    assert text.decode() == ["4,8", None, None, "a", "a"]
    assert text_cells(None) is None
    kept = text_cells(["N/A"], absent=())
    assert kept is not None
    assert kept.decode() == ["N/A"]


def test_unreadable_required_cells_go_to_the_ledger(tmp_path: Path) -> None:
    table, ledger = read(tmp_path, b"T,U\n1,1\nx,1\n2,x\n")
    assert table is not None
    numbers = {name: integer_cells(table.get(name)) for name in ("T", "U")}

    usable = table.without_unreadable(ledger, {name: column for name, column in numbers.items() if column is not None})

    assert usable.tolist() == [True, False, False]
    assert [(entry.place, entry.example) for entry in ledger.entries] == [("line 3", "T = 'x'"), ("line 4", "U = 'x'")]
    assert list(table.only(usable).columns["T"]) == ["1"]
    assert np.array_equal(table.only(usable).records, [1])


def test_columns_are_let_go_of_without_a_search_for_garbage(tmp_path: Path) -> None:
    gc.collect()
    gc.disable()
    try:
        table, ledger = read(tmp_path, b"a,b\n1,2\nx,3\n")
        assert table is not None
        assert plain(integer_cells(table.only(np.array([True, True])).renamed({"a": "c"}).get("c"))) == [1, None]
        assert [entry.kind for entry in ledger.entries] == ["unreadable_cell"]

        del table, ledger

        assert not [held for held in gc.get_objects() if isinstance(held, CsvColumns)]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "content",
    [
        b"Start (us);Duration(us)\n1000,5;2.000,25\n",
        b"start(us)\tDURATION(us)\n1000.5\t2,000.25\n",
        b'Start(us),Duration(us)\n"1,000.5","2,000.25"\n',
        b"Start(ms),Duration(ns)\n1.0005,2000250\n",
        "Start(us),Duration(us)\n1000.5,2000.25\n".encode("utf-16"),
        b"Start(us),Duration(us)\n1000.5,2000.25,,\n",
    ],
    ids=["semicolons", "tabs", "thousands", "units", "utf-16", "blank cells beyond"],
)
def test_the_dialects_of_spreadsheets_and_other_exporters(tmp_path: Path, content: bytes) -> None:
    path, ledger = tmp_path / "table.csv", Ledger()
    path.write_bytes(content)

    table = read_csv_columns(path, "table.csv", ledger, required=("Start(us)", "Duration(us)"))

    assert table is not None
    assert plain(table.times(ledger, "Start(us)")) == [1_000_500]
    assert plain(ns_cells(table.get("Duration(us)"))) == [2_000_250]
    assert plain(float_cells(table.get("Duration(us)"))) == [2000.25]
    assert [float(cell) for cell in table.numbers("Duration(us)") or ()] == [2000.25]
    assert not ledger.entries


def test_a_comma_that_groups_no_thousands_is_no_number(tmp_path: Path) -> None:
    table, ledger = read(tmp_path, b'A(us),B\n"2,00",x\n"12,34,567",y\n')

    assert table is not None
    assert plain(ns_cells(table.get("A(us)"))) == [None, None]
    (entry,) = ledger.entries
    assert (entry.kind, entry.place, entry.count) == ("unreadable_cell", "line 2", 2)


def test_sizes_in_another_unit_are_binary(tmp_path: Path) -> None:
    table, _ = read(tmp_path, b"Size(MB)\n1.5\n")

    assert table is not None
    assert plain(size_cells(table.get("Size(KB)"), 1024)) == [1_572_864]


def test_a_place_in_a_file_of_another_dialect(tmp_path: Path) -> None:
    table, ledger = read(tmp_path, "A;B\n1;2\n3\n".encode("utf-16"))

    assert table is not None
    assert table.lost_count == 1
    (entry,) = ledger.entries
    assert (entry.kind, entry.place) == ("row_width", "line 3")


def durations(tmp_path: Path, cells: str, delimiter: str, unit: str = "us") -> tuple[list[int | float | None], Ledger]:
    """Read a file of the column Duration, whose cells stand between blanks; all are quoted where commas part them."""
    quote = '"' if delimiter == "," else ""
    rows = "".join(f"{quote}{cell}{quote}{delimiter}Add\n" for cell in cells.split())
    table, ledger = read(tmp_path, f"Duration({unit}){delimiter}Name\n{rows}".encode())
    assert table is not None
    return plain(ns_cells(table.get("Duration(us)"))), ledger


@pytest.mark.parametrize("delimiter", [",", ";", "\t"], ids=["commas", "semicolons", "tabs"])
@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        # A comma before one, two, four or more digits, after four or more, or after a leading 0, is decimal.
        ("12,345 12,34", [12_345, 12_340]),
        ("12,345 0,125", [12_345, 125]),
        ("-12,345 -0,125", [-12_345, -125]),
        ("12,345 1250,125", [12_345, 1_250_125]),
        ("12,345 1,2505", [12_345, 1_251]),
        ("12,345 1,69E+3", [12_345, 1_690_000]),
        ("1.250 1.234,5", [1_250_000, 1_234_500]),
        ("1.250 1.234,567 7", [1_250_000, 1_234_567, 7_000]),
        ("12,345 1.234.567", [12_345, 1_234_567_000]),
        # The same the other way round.
        ("12,345 12.34", [12_345_000, 12_340]),
        ("12,345 0.125", [12_345_000, 125]),
        ("+12,345 1250.125", [12_345_000, 1_250_125]),
        ("1,250 1,234.5", [1_250_000, 1_234_500]),
        ("12,345 1.250 1,234,567", [12_345_000, 1_250, 1_234_567_000]),
        # Nothing proves either, or something each.
        ("12,345 1,250", [None, None]),
        ("12,345 1.250 7", [None, None, 7_000]),
        ("12,345 12,34 12.34", [None, None, 12_340]),
        ("1.250 12,34 12.34", [None, None, 12_340]),
    ],
)
def test_all_numbers_of_a_file_tell_what_its_commas_mean(
    tmp_path: Path, cells: str, expected: list[int | None], delimiter: str
) -> None:
    found, ledger = durations(tmp_path, cells, delimiter)

    assert found == expected
    assert sum(entry.count for entry in ledger.entries) == expected.count(None)
    assert {entry.kind for entry in ledger.entries} <= {"unreadable_cell"}


def test_a_number_of_another_column_proves_what_the_commas_mean(tmp_path: Path) -> None:
    table, ledger = read(tmp_path, b"A(us);B(us);Input Shapes\n1.250;1.234,5;4.5\n")

    assert table is not None
    assert plain(ns_cells(table.get("A(us)"))) == [1_250_000]
    assert not ledger.entries


@pytest.mark.parametrize("other", ["Input Shapes\n12,345\t4,8", "Ranks\n12,345\t0,1,2"], ids=["shapes", "lists"])
def test_lists_prove_nothing(tmp_path: Path, other: str) -> None:
    table, ledger = read(tmp_path, f"A(us)\t{other}\n".encode())

    assert table is not None
    assert plain(ns_cells(table.get("A(us)"))) == [None]
    assert [(entry.kind, entry.example) for entry in ledger.entries] == [("unreadable_cell", "A(us) = '12,345'")]


def test_numbers_are_made_plain_once(tmp_path: Path) -> None:
    # 1.250,5 ns is 1.2505 us, and 1.250 ns is 1.25 us: the point of the results groups nothing.
    table, ledger = read(tmp_path, b"A(ns);Name\n1.250,5;x\n1.250;y\n")
    assert table is not None

    kept = table.renamed({"A(us)": "B(us)"}).only(np.array([False, True]))

    assert plain(ns_cells(table.get("A(us)"))) == [1_251, 1_250]
    assert plain(ns_cells(kept.get("B(us)"))) == [1_250]
    assert plain(ns_cells(table.only(np.array([False, True])).get("A(us)"))) == [1_250]
    assert not ledger.entries


def test_what_is_unread_in_another_unit_is_told_as_it_stands_in_the_file(tmp_path: Path) -> None:
    found, ledger = durations(tmp_path, "1,5 1.5 1.250", ";", unit="ms")

    assert found == [None, 1_500_000, None]
    (entry,) = ledger.entries
    assert (entry.kind, entry.place, entry.count) == ("unreadable_cell", "line 2", 2)
    assert entry.example == "Duration(ms) = '1,5'"


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_times_of_which_digits_were_cut_are_told_in_every_unit(tmp_path: Path, unit: str) -> None:
    written = {"us": "1.69E+15", "ns": "1.69E+18"}[unit]
    table, ledger = read(tmp_path, f"Start Time({unit}),Name\n5,x\n{written},y\n".encode())
    assert table is not None

    for columns in (table, table.renamed({"Start Time(us)": "Start Time(us)"}).only(np.array([False, True]))):
        times = columns.times(ledger, "Start Time(us)")
        assert plain(times)[-1] == 1_690_000_000_000_000_000
        entry = ledger.entries.pop()
        assert (entry.kind, entry.place, entry.count, entry.example) == ("exponent_time", "line 3", 1, written)
    assert not ledger.entries


def test_a_row_that_a_comma_shifted_is_left_out(tmp_path: Path) -> None:
    table, ledger = read(tmp_path, b"Name,Type,Duration(us),Wait\na,1,2,7.5,\nb,T,2,7.5\n")

    assert table is not None
    assert list(table.columns["Name"]) == ["b"]
    assert [(entry.kind, entry.place, entry.count) for entry in ledger.entries] == [("row_width", "line 2", 1)]


def test_blank_cells_beyond_the_header_count_for_nothing_where_every_row_has_as_many(tmp_path: Path) -> None:
    same, ledger = read(tmp_path, b"A,B\n1,2,, \n3,4,,\n")
    assert same is not None
    assert [list(cells) for cells in same.columns.values()] == [["1", "3"], ["2", "4"]]
    assert [same.place(0), same.place(1)] == ["line 2", "line 3"]
    assert not ledger.entries

    differing, ledger = read(tmp_path, b"A,B\n1,2,,\n3,4,\n")
    assert differing is not None
    assert len(differing) == 0
    assert [(entry.kind, entry.count) for entry in ledger.entries] == [("row_width", 2)]
