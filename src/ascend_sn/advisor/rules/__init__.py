"""The rules of the advisor, each in a module of its own, loaded when it is first asked.

How to add a rule:

1. `advisor/rules/<pattern>.py`. Its docstring begins with the code and the pattern. It ends with
   `RULE = Rule(code, name, topic, effort, check, needs=(analyses,))`. `check(context)` yields `Claim`s, worst first,
   and nothing where the pattern is not there:

   * `context.facts.rows(analysis, RowStruct, where)` and `.query(analysis, sql, RowStruct)` give analysis results,
     `context.steps` the median step of each profile, `context.profiles` the captured processes with their
     configuration. Rules read analyses; raw tables only through `facts.table_rows`, where no analysis has the figure.
     Every query costs milliseconds, whatever it finds: look first at what is known already (`facts.missing`,
     `facts.has_rows`, the rows of a result), and let rules that ask the same share an `asked_once` function.
   * `context.limits["name_ratio"]` is a threshold. No number that decides stands in the module.
   * `Claim(params=..., location=..., evidence=..., changes=(...), at_stake_ns=...)`: `changes` are functions from the
     replayed graph to a transformation, which import `ascend_sn.replay` inside, as many runs never get there. `advise`
     replays them and sets gain, severity and confidence. `direct=DirectGain(low, expected, high)` is for a gain that
     an analysis has measured. With neither, the finding is "info" and is ranked by `at_stake_ns`; `unpriced` says why.
     A gain below `worth_from_ratio` of the step is held back by `advise`.
   * `suppressed_by=Message("suppressed.<why>", {...})` holds a claim back, with everything it would have said.
   * `yield Lacking(analysis)` where something optional turns out to be needed and was not collected.
   * Only rules of risk (`is_risk=True`) set `severity`.

2. One line in `_MODULES` below (code: module), in the order of the list of rules.
3. A table `[CODE]` in `advisor/thresholds.toml`; the unit ends the name. A change of a threshold that another rule has
   too belongs to both tables.
4. Texts in `locale/{en,zh}/LC_MESSAGES/ascend_sn.po`, ids in lower case: `rule.<code>.title` (pattern, no figures),
   `.message` (what was measured: one sentence with figures), `.advice` (what to do), `.verify` (how to see that it
   helped, or what to collect first), `.why` (why the pattern costs time) and `.not-when` (when the rule keeps silent).
   `params` fill all of them; the end of a parameter's name is its unit (`wait_ns`, `share_ratio`, `size_bytes`,
   `kernel_count`). Other variants are further ids, chosen with `texts={"advice": <id>}`, and
   reasons are `suppressed.<why>`; both must stand in the source as whole strings. Then `python hatch_build.py`.
5. `python scripts/generate_reference.py` writes `docs/reference/rules.md` from these texts and the thresholds.
6. `tests/unit/advisor/rules/test_<pattern>.py` with a drawn trace (`tests/timeline.py`): at, below and above each
   threshold, and one test per reason of suppression; `tests/unit/advisor/advised.py` runs one rule on a drawing.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Final

from ascend_sn.advisor.rule import Rule
from ascend_sn.errors import UnknownNameError

__all__ = ["CODES", "load", "module_of"]

_MODULES: Final = {
    "R-DATA-1": "data_starved",
    "R-DATA-2": "slow_uploads",
    "R-DATA-3": "slow_production",
    "R-DATA-4": "epoch_spikes",
    "R-COMM-0": "communication_share",
    "R-COMM-1": "serial_communication",
    "R-COMM-2": "weak_links",
    "R-COMM-3": "uncompressed_gradients",
    "R-COMM-4": "small_messages",
    "R-COMM-5": "slow_link",
    "R-COMM-6": "retransmission",
    "R-COMM-7": "unaligned_messages",
    "R-COMM-8": "contention",
    "R-IMB-1": "straggler",
    "R-IMB-2": "uneven_ranks",
    "R-PP-1": "pipeline",
    "R-BN-1": "sync_batch_norm",
    "R-PROF-1": "no_device_data",
    "R-PROF-2": "damaged_capture",
    "R-PROF-3": "lost_rows",
    "R-PROF-4": "recording_overhead",
    "R-PROF-5": "different_captures",
    "R-HOST-1": "host_bound",
    "R-HOST-2": "host_waits",
    "R-HOST-3": "garbage_collection",
    "R-HOST-4": "operator_compilation",
    "R-HOST-5": "dispatch_bound",
    "R-HOST-6": "silent_program",
    "R-OP-1": "small_operators",
    "R-OP-2": "affinity_calls",
    "R-OP-3": "wrong_core",
    "R-OP-4": "low_utilisation",
    "R-OP-5": "unaligned_shapes",
    "R-OP-6": "format_conversion",
    "R-OP-7": "single_precision",
    "R-OP-8": "slow_kernels",
    "R-OPT-1": "unfused_optimizer",
    "R-FREQ-1": "low_frequency",
    "R-BS-1": "small_batch",
    "R-MEM-1": "memory_limit",
    "R-MEM-2": "growing_memory",
    "R-MEM-3": "fragmented_memory",
    "R-MEM-4": "steep_peak",
    "R-MEM-5": "allocator_in_loop",
    "R-INF-1": "inference_copies",
    "R-INF-2": "uneven_latency",
    "R-INF-3": "batch_knee",
    "R-COPY-1": "exposed_copies",
}

CODES: Final = tuple(_MODULES)
"""Codes of all rules, in the order in which they look."""


@cache
def load(code: str) -> Rule:
    """Return a rule by its code.

    Raises:
        UnknownNameError: No rule of that code.
    """
    if code not in _MODULES:
        nearest = next(iter(get_close_matches(code.upper(), CODES, n=1)), None)
        raise UnknownNameError("rule", code, CODES, nearest)
    rule = module_of(code).RULE
    assert isinstance(rule, Rule)
    return rule


def module_of(code: str) -> ModuleType:
    """Return the module of one of `CODES`."""
    return import_module(f"{__name__}.{_MODULES[code]}")
