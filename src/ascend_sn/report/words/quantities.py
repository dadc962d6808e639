"""Numbers with units as text. The only place where ratios become percent and nanoseconds become milliseconds."""

from __future__ import annotations

from typing import Final

__all__ = ["bytes_text", "count_text", "duration_text", "percent_text", "quantity_text", "rate_text"]

_TIME_UNITS: Final = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))
_BYTE_UNITS: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_RATE_UNITS: Final = ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"))


def duration_text(ns: float) -> str:
    """Nanoseconds in the unit that leaves one to four digits before the point: `8.87 ms`, `137 ms`."""
    sign, size = ("-", -ns) if ns < 0 else ("", ns)
    for factor, unit in _TIME_UNITS:
        if size >= 0.9995 * factor:
            return f"{sign}{_three_digits(size / factor)} {unit}"
    return f"{sign}{size:.0f} ns"


def bytes_text(size_bytes: float) -> str:
    """Bytes in binary units, named as such: `1.16 GiB`."""
    sign, size = ("-", -size_bytes) if size_bytes < 0 else ("", size_bytes)
    for factor, unit in _BYTE_UNITS:
        if size >= 0.9995 * factor:
            return f"{sign}{_three_digits(size / factor)} {unit}"
    return f"{sign}{size:.0f} B"


def rate_text(bytes_per_s: float) -> str:
    """Bytes per second in decimal units, as vendors state the speed of links: `18.4 GB/s`."""
    for factor, unit in _RATE_UNITS:
        if bytes_per_s >= 0.9995 * factor:
            return f"{_three_digits(bytes_per_s / factor)} {unit}"
    return f"{bytes_per_s:.0f} B/s"


def percent_text(ratio: float) -> str:
    """A ratio in percent, with one decimal below ten: `75 %`, `3.5 %`, `<0.1 %`; only the whole is `100 %`."""
    percent = 100 * ratio
    if 0 < percent < 0.1:
        return "<0.1 %"
    if 99.5 <= percent < 100:
        return ">99 %"
    if abs(percent) >= 9.95 or percent == 0:
        return f"{percent:.0f} %"
    return f"{percent:.1f} %"


def count_text(number: float) -> str:
    """A count with thousands separated; whole numbers without decimals."""
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}"


def quantity_text(name: str, value: object) -> str:
    """Format a value by the unit that its name ends in (`_ns`, `_bytes`, `_ratio`, ...); text stays text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if name.endswith("_ns"):
        return duration_text(value)
    if name.endswith("_bytes_per_s"):
        return rate_text(value)
    if name.endswith("_bytes"):
        return bytes_text(value)
    if name.endswith("_ratio"):
        return percent_text(value)
    return count_text(value) if name.endswith("_count") else str(value)


def _three_digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
