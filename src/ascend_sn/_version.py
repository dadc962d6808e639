"""The version of ascend-sn; the package metadata reads it from here."""

from __future__ import annotations

__version__ = "0.1.0"
