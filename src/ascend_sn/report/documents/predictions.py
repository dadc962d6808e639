"""What a document predicts, as a record that is kept with the run."""

from __future__ import annotations

from ascend_sn._version import __version__
from ascend_sn.model.predictions import PREDICTIONS_VERSION, Prediction, Predictions
from ascend_sn.report.documents.run import Document

__all__ = ["predictions_of"]


def predictions_of(document: Document, made_ns: int) -> Predictions:
    """Return the gains of all findings that have a price per step, and their place in the joint plan.

    Args:
        document: An analysed run.
        made_ns: The time now, ns since the epoch.
    """
    plan = document.findings.plan
    places = {step.id: (order, step.step_ns) for order, step in enumerate(plan.steps if plan else (), 1)}
    rows = []
    for finding in document.findings.rows:
        if finding.gain is None or finding.gain.per != "step":
            continue
        order, after_ns = places.get(finding.id, (None, None))
        rows.append(
            Prediction(
                id=finding.id,
                rule=finding.rule,
                confidence=finding.confidence,
                method=finding.gain.method,
                change=finding.gain.change,
                low_ns=finding.gain.low_ns,
                expected_ns=finding.gain.expected_ns,
                high_ns=finding.gain.high_ns,
                base_ns=finding.gain.base_ns,
                order=order,
                after_ns=after_ns,
            )
        )
    return Predictions(
        version=PREDICTIONS_VERSION,
        tool_version=__version__,
        made_ns=made_ns,
        input=document.input,
        job=document.job,
        rows=tuple(rows),
    )
