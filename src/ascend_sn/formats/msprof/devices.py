"""One profile per device: the device rows of each, and the host calls that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ascend_sn.formats.torch_npu.kernel_details import KernelDetails
from ascend_sn.formats.torch_npu.trace_device import DeviceEvents
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, concatenate
from ascend_sn.model.tables import KERNEL, KERNEL_METRIC

__all__ = ["chosen_details", "chosen_events", "divided_calls", "joined_details"]


def divided_calls(calls: Rows, kernels: Sequence[Rows]) -> list[tuple[Rows, Rows]]:
    """Divide the host calls of a process among its devices; each call goes to one.

    A call goes to the device it launched on; one that launched nothing goes with the others of its thread,
    and to the first device where these launched nothing either.

    Args:
        calls: The table `host_call`.
        kernels: The table `kernel` of each device.

    Returns:
        Calls and kernels of each device, numbered anew.
    """
    owner = np.full(len(calls), -1, np.int64)
    for number, rows in enumerate(kernels):
        linked = rows.values("host_call_id")[rows.valid("host_call_id")]
        owner[linked[owner[linked] < 0]] = number
    thread = calls.text("thread").codes.astype(np.int64)
    votes = np.zeros((int(thread.max(initial=-1)) + 2, len(kernels)), np.int64)
    np.add.at(votes, (thread[owner >= 0], owner[owner >= 0]), 1)
    owner = np.where(owner >= 0, owner, votes.argmax(axis=1)[thread])
    divided = []
    for number, rows in enumerate(kernels):
        index = np.flatnonzero(owner == number)
        position = np.full(len(calls) + 1, -1, np.int64)
        position[index] = np.arange(len(index))
        call = position[np.where(rows.valid("host_call_id"), rows.values("host_call_id"), len(calls))]
        divided.append(
            (
                calls.take(index).replace(host_call_id=np.arange(len(index), dtype=np.int64)),
                rows.replace(host_call_id=Nullable(call, call >= 0)),
            )
        )
    return divided


def joined_details(parts: Sequence[KernelDetails]) -> KernelDetails | None:
    """Return the rows of several files as those of one; None for none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    first = np.cumsum([0, *(len(part.kernels) for part in parts)])
    kernels = concatenate(KERNEL, [part.kernels for part in parts])
    metrics = [
        part.metrics.replace(kernel_id=part.metrics.values("kernel_id") + start)
        for part, start in zip(parts, first, strict=False)
    ]
    return KernelDetails(
        kernels=kernels.replace(kernel_id=np.arange(len(kernels), dtype=np.int64)),
        metrics=concatenate(KERNEL_METRIC, metrics),
        step=_joined([part.step for part in parts]),
        task=_joined([part.task for part in parts]),
        lost_count=sum(part.lost_count for part in parts),
    )


def chosen_details(details: KernelDetails, index: Int64) -> KernelDetails:
    """Return some of the rows, numbered anew."""
    position = np.full(len(details.kernels), -1, np.int64)
    position[index] = np.arange(len(index))
    kernel = position[details.metrics.values("kernel_id")]
    metrics = details.metrics.replace(kernel_id=kernel).take(np.flatnonzero(kernel >= 0))
    return KernelDetails(
        kernels=details.kernels.take(index).replace(kernel_id=np.arange(len(index), dtype=np.int64)),
        metrics=metrics,
        step=_chosen(details.step, index),
        task=_chosen(details.task, index),
        lost_count=details.lost_count,
    )


def chosen_events(events: DeviceEvents, index: Int64) -> DeviceEvents:
    """Return some of the device events."""
    columns: dict[str, Any] = {item.name: _chosen(getattr(events, item.name), index) for item in fields(events)}
    return replace(events, **columns)


def _chosen(column: Any, index: Int64) -> Any:
    if isinstance(column, Text):
        return column.take(index)
    if isinstance(column, Nullable):
        return Nullable(column.values[index], column.valid[index])
    return column[index]


def _joined(columns: Sequence[Nullable]) -> Nullable:
    return Nullable(
        np.concatenate([column.values for column in columns]), np.concatenate([column.valid for column in columns])
    )
