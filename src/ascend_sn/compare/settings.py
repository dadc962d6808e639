"""The limits of the gate: those of the package, those of the user's `ascend-sn.toml`, those of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from ascend_sn.compare.metrics import DEFAULT_LIMITS, metric_of
from ascend_sn.compare.settings_file import FILE_NAME, settings_table
from ascend_sn.errors import UsageError

__all__ = ["GateSettings"]

_OFF: Final = "off"
_SWITCHES: Final = ("strict", "require_confidence")
_KNOWN: Final = ("limits", "metrics", *_SWITCHES)


@dataclass(frozen=True)
class GateSettings:
    """What the gate looks at.

    Attributes:
        limits: Limit of each metric that is judged, as a ratio.
        declared: Metrics that somebody named: they must be there; of the others those are judged that are.
        strict: Whether possible regressions and inconclusive results fail.
        require_confidence: Whether results from too few runs count as inconclusive, which then fails.
    """

    limits: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_LIMITS))
    declared: frozenset[str] = frozenset()
    strict: bool = False
    require_confidence: bool = False

    @classmethod
    def in_force(cls, folder: Path) -> GateSettings:
        """Return those of the package with what `ascend-sn.toml` of a folder sets in `[gate]`.

        Raises:
            UsageError: The file sets something that is not there.
        """
        return cls()._with_file(folder / FILE_NAME)

    def with_limits(self, options: Iterable[str]) -> GateSettings:
        """Return them with limits of the form `METRIC=PERCENT` (or points), `METRIC=off` for none.

        Raises:
            UsageError: An option has another form.
            UnknownNameError: No such metric.
        """
        found = self
        for option in options:
            name, equals, text = option.partition("=")
            if not equals:
                raise UsageError(f"limit {option!r}: write it as METRIC=PERCENT, such as step_time=10")
            found = found._with_limit(name, text.strip().removesuffix("%").strip(), "")
        return found

    def with_switches(self, *, strict: bool, require_confidence: bool) -> GateSettings:
        """Return them with switches turned on; one that is on stays on."""
        return replace(
            self,
            strict=self.strict or strict,
            require_confidence=self.require_confidence or require_confidence,
        )

    def only(self, names: Iterable[str]) -> GateSettings:
        """Return them for some metrics alone; no names leave them as they are.

        Raises:
            UnknownNameError: No such metric.
            UsageError: A metric that has no usual limit and was given none.
        """
        chosen = [metric_of(name).name for name in names]
        without = [name for name in chosen if name not in self.limits]
        if without:
            raise UsageError(f"metric {without[0]}: has no usual limit; give one with --limit {without[0]}=PERCENT")
        if not chosen:
            return self
        limits = {name: self.limits[name] for name in chosen}
        return replace(self, limits=limits, declared=(self.declared & set(chosen)) | set(chosen))

    def _with_limit(self, name: str, value: object, where: str) -> GateSettings:
        metric = metric_of(name)
        if value == _OFF:
            limits = {key: limit for key, limit in self.limits.items() if key != metric.name}
            return replace(self, limits=limits, declared=self.declared - {metric.name})
        try:
            number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1.0
        except ValueError:
            number = -1.0
        if not 0 < number < float("inf"):
            raise UsageError(f"{where}limit of {metric.name}: {value!r} is no percentage above 0, nor off")
        limits = {**self.limits, metric.name: number / 100}
        return replace(self, limits=limits, declared=self.declared | {metric.name})

    def _with_file(self, path: Path) -> GateSettings:
        found = settings_table(path, "gate", _KNOWN)
        settings = self
        limits = found.get("limits", {})
        if not isinstance(limits, dict):
            raise UsageError(f"{path}: [gate.limits] is not a table")
        for name, value in limits.items():
            settings = settings._with_limit(name, value, f"{path}: ")
        switches = {name: found.get(name, False) for name in _SWITCHES}
        if not all(isinstance(value, bool) for value in switches.values()):
            raise UsageError(f"{path}: strict and require_confidence are true or false")
        metrics = found.get("metrics", [])
        if not isinstance(metrics, list) or not all(isinstance(name, str) for name in metrics):
            raise UsageError(f"{path}: metrics is not a list of names")
        return replace(settings.only(metrics), **switches)
