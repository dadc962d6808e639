"""Memory and sampled values of the profiler database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ascend_sn.formats.sqlite_columns import Database, sqlite_integers, sqlite_reals
from ascend_sn.formats.torch_npu.memory_csv import allocation_events
from ascend_sn.model.memory_parts import MODULE_PREFIX
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, concatenate, conform
from ascend_sn.model.tables import COUNTER, MEMORY_EVENT, MEMORY_SAMPLE

__all__ = ["read_counters", "read_memory_events", "read_memory_samples"]

_TIMES = {"NPU_MEM": "timestampNs", "MEMORY_RECORD": "timestamp", "NPU_MODULE_MEM": "timestampNs"}


def read_memory_samples(database: Database) -> Rows:
    """Read MEMORY_RECORD, the process's rows of NPU_MEM (component APP) and NPU_MODULE_MEM."""
    record = database.read("MEMORY_RECORD", "component", "timestamp", "totalAllocated", "totalReserved", "totalActive")
    npu = database.read("NPU_MEM", "type", "ddr", "hbm", "timestampNs")
    module = database.read("NPU_MODULE_MEM", "moduleId", "timestampNs", "totalReserved")
    process = database.texts(npu["type"]).matches(["app"])
    in_process = Nullable(
        (_sizes(npu["ddr"]).values + _sizes(npu["hbm"]).values), _sizes(npu["ddr"]).valid & _sizes(npu["hbm"]).valid
    )
    times = sqlite_integers(npu["timestampNs"])
    reserved = _sizes(module["totalReserved"])
    return concatenate(
        MEMORY_SAMPLE,
        [
            _samples(
                database,
                "NPU_MEM",
                Text.constant("APP", len(process)).take(process),
                Nullable(times.values[process], times.valid[process]),
                reserved_bytes=Nullable(in_process.values[process], in_process.valid[process]),
            ),
            _samples(
                database,
                "MEMORY_RECORD",
                database.texts(record["component"]),
                sqlite_integers(record["timestamp"]),
                allocated_bytes=_sizes(record["totalAllocated"]),
                reserved_bytes=_sizes(record["totalReserved"]),
                active_bytes=_sizes(record["totalActive"]),
            ),
            _samples(
                database,
                "NPU_MODULE_MEM",
                database.names("ENUM_MODULE", module["moduleId"]).mapped(lambda name: MODULE_PREFIX + name),
                sqlite_integers(module["timestampNs"]),
                reserved_bytes=Nullable(reserved.values, reserved.valid & (reserved.values >= 0)),
            ),
        ],
    )


def read_memory_events(database: Database) -> Rows:
    """Read OP_MEMORY: an alloc and, where it was released in the window, a free row per allocation."""
    totals = [
        f"{when}Total{kind}" for when in ("allocation", "release") for kind in ("Allocated", "Reserved", "Active")
    ]
    rows = database.read("OP_MEMORY", "name", "size", "allocationTime", "releaseTime", "streamPtr", "deviceId", *totals)
    if not rows["size"]:
        return concatenate(MEMORY_EVENT, [])
    size = sqlite_integers(rows["size"])
    device = [None if number is None else f"NPU:{number}" for number in rows["deviceId"]]

    def after(when: str) -> dict[str, Nullable | None]:
        kinds = ("Allocated", "Reserved", "Active")
        return {f"{kind.lower()}_bytes": _sizes(rows[f"{when}Total{kind}"]) for kind in kinds}

    allocated, released = sqlite_integers(rows["allocationTime"]), sqlite_integers(rows["releaseTime"])
    return allocation_events(
        name=database.texts(rows["name"]),
        size=size,
        allocated_at=Nullable(allocated.values, allocated.valid & size.valid),
        released_at=Nullable(released.values, released.valid & size.valid),
        after_allocation=after("allocation"),
        after_release=after("release"),
        stream=Text.of(None if stream is None else str(stream) for stream in rows["streamPtr"]),
        device=Text.of(device),
    )


def read_counters(database: Database) -> Rows:
    """Read frequencies, bandwidths and levels that were sampled; bandwidths are bytes per second."""
    parts = [
        *_of(database, "AICORE_FREQ", ("freq",), lambda _: "AI Core Freq", {"freq": ("", "MHz", 1.0)}),
        *_bandwidths(database),
        *_caches(database),
        *_process_memory(database),
        *_of(
            database,
            "SOC_BANDWIDTH_LEVEL",
            ("l2BufferBwLevel", "mataBwLevel"),
            lambda _: "",
            {"l2BufferBwLevel": ("L2 Buffer Bw Level", "level", 1.0), "mataBwLevel": ("Mata Bw Level", "level", 1.0)},
        ),
        *_of(
            database,
            "ACC_PMU",
            ("readBwLevel", "writeBwLevel", "readOstLevel", "writeOstLevel"),
            lambda row: f"Acc PMU {row['accId']}",
            {
                "readBwLevel": ("/read_bandwidth", "level", 1.0),
                "writeBwLevel": ("/write_band_width", "level", 1.0),
                "readOstLevel": ("/read_ost", "level", 1.0),
                "writeOstLevel": ("/write_ost", "level", 1.0),
            },
            keys=("accId",),
        ),
    ]
    return concatenate(COUNTER, parts)


def _bandwidths(database: Database) -> list[Rows]:
    rows = database.read("HBM", "hbmId", "timestampNs", "bandwidth", "type")
    kind = database.texts(rows["type"]).decode()
    names = [f"HBM {i}/{(of or '').capitalize()}" for i, of in zip(rows["hbmId"], kind, strict=True)]
    parts = [_counter(names, "bytes/s", rows["timestampNs"], rows["bandwidth"])]
    for table, label, columns in (
        ("DDR", "DDR", {"read": "Read", "write": "Write"}),
        ("HCCS", "HCCS", {"txThroughput": "Tx", "rxThroughput": "Rx"}),
    ):
        rows = database.read(table, "timestampNs", *columns)
        parts += [
            _counter([f"{label}/{name}"] * len(rows[column]), "bytes/s", rows["timestampNs"], rows[column])
            for column, name in columns.items()
        ]
    return parts


def _caches(database: Database) -> list[Rows]:
    rows = database.read("LLC", "llcId", "timestampNs", "hitRate", "throughput", "mode")
    mode = database.texts(rows["mode"]).decode()
    names = [f"LLC {i} {(of or '').capitalize()}" for i, of in zip(rows["llcId"], mode, strict=True)]
    rates = [rate / 100.0 if isinstance(rate, int | float) else None for rate in rows["hitRate"]]
    return [
        _counter([f"{name}/Throughput" for name in names], "bytes/s", rows["timestampNs"], rows["throughput"]),
        _counter([f"{name}/Hit Rate" for name in names], "ratio", rows["timestampNs"], rates),
    ]


def _process_memory(database: Database) -> list[Rows]:
    rows = database.read("NPU_MEM", "type", "ddr", "hbm", "timestampNs")
    owner = [
        {"app": "APP", "device": "Device"}.get(name or "", name or "") for name in database.texts(rows["type"]).decode()
    ]
    both = [
        ddr + hbm if isinstance(ddr, int | float) and isinstance(hbm, int | float) else None
        for ddr, hbm in zip(rows["ddr"], rows["hbm"], strict=True)
    ]
    return [
        _counter([f"{name}/{label}" for name in owner], "bytes", rows["timestampNs"], values)
        for label, values in (("DDR", rows["ddr"]), ("HBM", rows["hbm"]), ("Memory", both))
    ]


def _of(
    database: Database,
    table: str,
    columns: Sequence[str],
    series: Any,
    names: dict[str, tuple[str, str, float]],
    keys: Sequence[str] = (),
) -> list[Rows]:
    rows = database.read(table, "timestampNs", *keys, *columns)
    length = len(rows["timestampNs"])
    labels = [series({key: rows[key][i] for key in keys}) for i in range(length)]
    return [
        _counter([label + names[column][0] for label in labels], names[column][1], rows["timestampNs"], rows[column])
        for column in columns
    ]


def _counter(names: Sequence[str], unit: str, times: Sequence[Any], values: Sequence[Any]) -> Rows:
    ts, value = sqlite_integers(times), sqlite_reals(values)
    usable = ts.valid & value.valid
    return conform(
        COUNTER,
        int(usable.sum()),
        name=Text.of(names).take(usable),
        unit=unit,
        ts_ns=ts.values[usable],
        value=value.values[usable],
    )


def _samples(database: Database, table: str, component: Text, ts: Nullable, **sizes: Nullable) -> Rows:
    """Return the samples whose time and component are known; a curve of who knows what tells nothing."""
    named = component.codes >= 0
    if not named.all():
        count = int(np.count_nonzero(~named))
        database.ledger.add(database.file, "unreadable_rows", place=f"table {table}", count=count, example="component")
    usable = ts.valid & named
    return conform(
        MEMORY_SAMPLE,
        int(usable.sum()),
        ts_ns=ts.values[usable],
        component=component.take(usable),
        **{name: Nullable(size.values[usable], size.valid[usable]) for name, size in sizes.items()},
    )


def _sizes(values: Sequence[Any]) -> Nullable:
    """Sizes in bytes; the columns are NUMERIC and may hold whole floats."""
    numbers = sqlite_reals(values)
    valid = numbers.valid & (np.abs(numbers.values) < 1 << 62)
    sizes: Int64 = np.where(valid, np.rint(numbers.values), 0).astype(np.int64)
    return Nullable(sizes, valid)
