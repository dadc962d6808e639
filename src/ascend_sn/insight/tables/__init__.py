"""The tables of the page: what each is, where its rows come from, and how they are asked for over HTTP."""

from __future__ import annotations

from typing import Final

from ascend_sn.insight.tables.communication import COMMUNICATION
from ascend_sn.insight.tables.health import HEALTH
from ascend_sn.insight.tables.memory import GRAPHS, MEMORY
from ascend_sn.insight.tables.operators import OPERATORS
from ascend_sn.insight.tables.overview import OVERVIEW

__all__ = ["BY_NAME", "PAGE_TABLES"]

PAGE_TABLES: Final = (*OVERVIEW, *OPERATORS, *COMMUNICATION, *MEMORY, *GRAPHS, *HEALTH)
BY_NAME: Final = {table.name: table for table in PAGE_TABLES}
