"""What a MindSpore capture was asked for and what came, in the words of MindSpore's profiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ascend_sn.formats.torch_npu.coverage import Delivery, coverage_of as torch_coverage_of
from ascend_sn.formats.torch_npu.layout import RunInfo
from ascend_sn.model.ledger import CoverageEntry
from ascend_sn.model.rows import Rows

__all__ = ["coverage_of"]

_TURN_ON: Final = {
    "step": "schedule=mindspore.profiler.schedule(...) and prof.step() after each step",
    "kernel_metric": "mindspore.profiler._ExperimentalConfig(profiler_level=Level1, aic_metrics=PipeUtilization)",
    "comm_group_member": "a MindSpore that writes parallel_group_info",
    "counter": "mindspore.profiler.profile(hbm_ddr=True, pcie=True)",
}
_PIPELINE: Final = "mindspore.profiler.profile(data_process=True)"


def coverage_of(info: RunInfo, tables: Mapping[str, Rows], delivery: Delivery) -> list[CoverageEntry]:
    """Return one entry per table and per column that may be absent."""
    entries = []
    for entry in torch_coverage_of(info, tables, delivery):
        if (entry.table_name, entry.column_name) == ("operator", "module"):
            entries.append(CoverageEntry("operator", "unsupported", "MindSpore does not record modules", "", "module"))
        else:
            own = _TURN_ON.get(entry.table_name) if entry.turn_on and entry.column_name is None else None
            entries.append(replace(entry, turn_on=own or entry.turn_on.replace("torch_npu.", "mindspore.")))
    return [*entries, _input_pipeline(info, tables)]


def _input_pipeline(info: RunInfo, tables: Mapping[str, Rows]) -> CoverageEntry:
    names = tables["metric"].text("name")
    if names.where(lambda name: name.startswith(("dataset.", "minddata."))).any():
        return CoverageEntry("metric", "collected")
    asked = info.config.get("data_process")
    if asked is False:
        return CoverageEntry("metric", "not_requested", "data_process=False", _PIPELINE)
    return CoverageEntry("metric", "missing", "no figures of the input pipeline", _PIPELINE)
