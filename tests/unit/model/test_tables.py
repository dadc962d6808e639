"""The tables are the ones that the design promises, each column with a type and a sentence."""

from __future__ import annotations

import re

import duckdb
import pytest

from ascend_sn.model.tables import BY_NAME, TABLES, Table, ddl

PROMISED = {
    "profile": "host pid start_ns session_count phase device_kind device_id device_name format source world_size "
    "versions config",
    "comm_group_member": "group_id kind group_rank group_size member_rank",
    "step": "step epoch session ts_ns dur_ns origin",
    "operator": "operator_id parent_id thread name ts_ns dur_ns self_ns depth phase module input_shapes "
    "input_dtypes output_shapes output_dtypes input_bytes output_bytes stack_id",
    "host_call": "host_call_id thread level name ts_ns dur_ns connection",
    "kernel": "kernel_id device_id stream name op_type kind core_type ts_ns dur_ns wait_ns operator_id host_call_id "
    "block_count input_shapes input_dtypes input_formats output_shapes output_dtypes output_formats "
    "copy_direction size_bytes",
    "kernel_metric": "kernel_id metric value",
    "collective": "collective_id kernel_id op name group_id sequence size_bytes dtype ts_ns dur_ns wait_ns sync_ns "
    "transit_ns idle_ns method",
    "comm_task": "collective_id stream name ts_ns dur_ns size_bytes src_rank dst_rank transport",
    "link": "step collective_id src_rank dst_rank transport size_bytes dur_ns bandwidth_bytes_per_s",
    "memory_event": "ts_ns kind size_bytes address device stream operator_id stack_id allocated_bytes "
    "reserved_bytes active_bytes",
    "memory_block": "device stream address size_bytes requested_bytes state stack_id",
    "memory_sample": "ts_ns component allocated_bytes reserved_bytes active_bytes",
    "static_memory": "device model graph_id operator_name first_node last_node size_bytes is_total",
    "counter": "name unit ts_ns value",
    "span": "span_id name domain kind thread ts_ns dur_ns depth",
    "metric": "name step ts_ns value",
    "flow": "src_table src_id dst_table dst_id kind",
    "stack": "stack_id frames",
    "damage": "file place kind count example",
    "coverage": "table_name column_name state reason turn_on",
}

SQL_KEYWORDS = {"end", "group", "order", "table", "column", "from", "to", "start", "user", "value_of", "references"}

every_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


def test_the_promised_tables_are_all_there() -> None:
    assert [table.name for table in TABLES] == list(PROMISED)
    assert list(BY_NAME) == list(PROMISED)


@every_table
def test_a_table_has_the_promised_columns(table: Table) -> None:
    promised = ["profile_id", "rank", *PROMISED[table.name].split()]

    assert [name for name in promised if name not in table.names] == []
    assert table.names[:2] == ("profile_id", "rank")


@every_table
def test_a_unit_suffix_fixes_the_type(table: Table) -> None:
    for column in table.columns:
        if column.name.endswith(("_ns", "_bytes")):
            assert column.type == "int64", column.name
        if column.name.endswith("_count") or column.name.endswith("_rank"):
            assert column.type == "int32", column.name
        if column.name.endswith("_per_s"):
            assert column.type == "float64", column.name
        assert not re.search(r"_(us|ms|s|mb|kb|percent)$", column.name.removesuffix("_per_s")), column.name


@every_table
def test_names_are_usable_in_sql_without_quotes(table: Table) -> None:
    for name in (table.name, *table.names):
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
        assert name not in SQL_KEYWORDS
    assert len(set(table.names)) == len(table.names)


@every_table
def test_everything_is_explained(table: Table) -> None:
    assert table.row
    assert all(column.doc.endswith(".") for column in table.columns)


@every_table
def test_the_ddl_makes_the_table(table: Table) -> None:
    db = duckdb.connect()

    db.execute(ddl(table))

    described = {name: kind.lower() for name, kind, *_ in db.sql(f"describe {table.name}").fetchall()}
    assert described == {column.name: column.duckdb_type for column in table.columns}


def test_a_row_without_its_profile_is_refused() -> None:
    db = duckdb.connect()
    db.execute(ddl(BY_NAME["metric"]))

    with pytest.raises(duckdb.ConstraintException):
        db.execute("insert into metric (name) values ('loss')")


def test_a_column_is_found_by_name() -> None:
    assert BY_NAME["step"].column("dur_ns").type == "int64"
    with pytest.raises(KeyError, match="step has no column duration"):
        BY_NAME["step"].column("duration")
