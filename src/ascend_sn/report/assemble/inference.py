"""The section of inference: what requests are made of, and throughput by batch size."""

from __future__ import annotations

from ascend_sn.advisor.facts import Facts
from ascend_sn.report.assemble.absence import absent
from ascend_sn.report.documents.inference import BatchSize, Inference, RequestStage

__all__ = ["inference_section"]


def inference_section(facts: Facts) -> Inference | None:
    """Return the section; None where the run holds no requests and no runs of a batch size."""
    stages = facts.rows("inference_latency", RequestStage)
    sizes = facts.rows("throughput_sweep", BatchSize)
    if stages or sizes:
        return Inference(collected=True, state="collected", stages=stages, batch_sizes=sizes)
    missing = facts.missing("inference_latency")
    is_inference = any(row["phase"] == "inference" for row in facts.profiles)
    return absent(Inference, missing) if is_inference and missing is not None else None
