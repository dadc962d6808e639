"""Write the reference pages that follow from the code: tables, analyses, metrics, the reading side in Python.

python scripts/generate_reference.py            write docs/reference/{tables,analyses,metrics,page-tables,...}.md
python scripts/generate_reference.py --check    exit 1 when a page is not what would be written
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb

import ascend_sn
from ascend_sn import analysis, errors, replay
from ascend_sn.advisor import rules
from ascend_sn.advisor.device_texts import DEVICE_TEXTS
from ascend_sn.advisor.finding import Advice, Finding, PricedGain, Suppressed
from ascend_sn.advisor.thresholds import Thresholds
from ascend_sn.analysis.registry import Analysis, Missing, Need, evaluate
from ascend_sn.compare.attribution import Attribution, Contribution
from ascend_sn.compare.comparison import Comparison, Scaling
from ascend_sn.compare.judge import Judgement
from ascend_sn.compare.operators import OperatorChange
from ascend_sn.compare.runs import compare
from ascend_sn.insight.tables import PAGE_TABLES
from ascend_sn.insight.tables.definition import PageTable, unit_of
from ascend_sn.insight.tables.query import MOST_ROWS
from ascend_sn.model import ledger
from ascend_sn.model.tables import TABLES, Table, ddl
from ascend_sn.report.analyzer import AnalysisReport, CommPair, ReportFinding
from ascend_sn.report.words.language import Language
from scripts.insight_reference import insight_api_page

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"

UNITS = (
    ("_bytes_per_s", "bytes/s"),
    ("_flops_per_s", "FLOP/s"),
    ("flops_per_byte", "FLOP/byte"),
    ("_flops", "FLOP"),
    ("_bytes", "bytes"),
    ("_ns", "ns"),
    ("_ratio", "0 to 1"),
    ("_bytes_per_step", "bytes"),
    ("ns_per_step", "ns"),
    ("_mhz", "MHz"),
    ("_count", "count"),
)
ON_DEVICE = {"npu": "on Ascend NPUs", "cuda": "on CUDA devices"}
# What these names mean in every analysis; a docstring that says more about its own goes first.
COMMON = {
    "calls": "how many",
    "checked": "rows looked at",
    "communication_ns": "a collective or point-to-point call runs",
    "compute_ns": "the device computes; fused compute-and-communication kernels included",
    "dur_ns": "length",
    "exposed_comm_ns": "communication with no compute beside it",
    "exposed_copy_ns": "a copy with neither compute nor communication beside it",
    "flops": "floating-point operations of one call",
    "free_ns": "neither compute, communication nor copy on the device",
    "idle_ns": "part of a collective: neither waiting nor moving bytes",
    "input_bytes": "bytes of the inputs; null where shapes were not collected",
    "kernel_count": "kernels that were launched",
    "kernels": "kernels that ran",
    "max_bytes": "largest",
    "max_ns": "longest",
    "mean_ns": "mean of the durations",
    "median_ns": "median of the durations",
    "members_expected": "ranks of the group; a lower bound where members_exact is false",
    "members_present": "ranks of the group that are in the run",
    "min_bytes": "smallest",
    "min_ns": "shortest",
    "overlapped_ns": "communication with compute beside it; part of the compute time too",
    "p50_ns": "median of the durations",
    "p90_ns": "90th percentile of the durations",
    "p95_ns": "95th percentile of the durations",
    "p99_ns": "99th percentile of the durations",
    "profiles": "captured processes",
    "ranks": "ranks that were looked at",
    "requests": "requests that were looked at",
    "robust_z": "modified z score: 0.6745 x (value - median) / median absolute deviation",
    "rows_checked": "rows looked at",
    "size_bytes": "payload of the calls",
    "stage_count": "stages of the pipeline",
    "steps": "steps that were looked at",
    "sync_ns": "first part of a collective's waiting: until the last rank arrives",
    "total_bytes": "sum",
    "total_ns": "sum of the durations",
    "transit_ns": "part of a collective: bytes move",
    "violations": "rows that contradict themselves",
    "wait_ns": "part of a collective: waiting, as recorded or until the last member arrives",
    "window_ns": "wall time of the window: a step between its marks, or the whole capture",
}
IDENTITY = re.compile(r"^(profile_id|rank|step|step_id|sequence|chunk|stage|ts_ns|\w+_id|\w+_rank)$")
GENERATED = "<!-- Written by scripts/generate_reference.py: change the code it describes, not this page. -->"


def pages() -> dict[str, str]:
    """Return the text of every page by file name."""
    return {
        "tables.md": tables_page(),
        "analyses.md": analyses_page(),
        "metrics.md": metrics_page(),
        "page-tables.md": page_tables_page(),
        "insight-api.md": insight_api_page(),
        "rules.md": rules_page(),
        "python.md": python_page(),
    }


def tables_page() -> str:
    parts = [
        "# Tables",
        GENERATED,
        "A run is a set of typed tables. Every row carries `profile_id` (the captured process) and `rank`; all other "
        "ids count within a profile, so joins use `profile_id` and the id. A column that was not collected is null, "
        "never 0. The suffix of a name is its unit: `_ns` nanoseconds, `_bytes`, `_count`, `_ratio` from 0 to 1.",
        "`ascend_sn.open(path).sql(...)` queries them; see [Python](python.md).",
    ]
    parts += [_table_section(table) for table in TABLES]
    parts += ["## States of coverage", paragraphs(ledger.__doc__)[-1], paragraphs(ledger.CoverageEntry.__doc__)[-1]]
    return _page(parts)


def _table_section(table: Table) -> str:
    rows = [(f"`{column.name}`", column.type, _unit(column.name), column.doc) for column in table.columns[2:]]
    needed = f" A reader gives {', '.join(f'`{name}`' for name in table.needed)} in every row." if table.needed else ""
    return f"## {table.name}\n\nOne row is {table.row}.{needed}\n\n{_grid(('column', 'type', 'unit', 'meaning'), rows)}"


def page_tables_page() -> str:
    parts = [
        "# Tables of the web page",
        GENERATED,
        "What `ascend-sn view` lists, also as an API: `GET api/v1/runs/RUN/tables/NAME` returns `columns` (name "
        f"and unit), `rows`, `row_count`, at most {MOST_ROWS} rows an answer. `from`, `count` page through it, `sort` "
        "(a column) with `descending=1` orders it, `contains` looks for a text, `profile` narrows it to one capture, "
        "`format=csv` downloads all of it; no cell of the download begins like a formula. Times of a moment count from "
        "the begin of the profile. Where a table was not collected, `state`, `reason` and `turn_on` say why.",
        "Tables with matched rows also take `merged=1` (the ranks together) and `against` (a second profile: the "
        "figures of both and their difference).",
    ]
    return _page([*parts, *map(_page_table_section, PAGE_TABLES)])


def _page_table_section(table: PageTable) -> str:
    source = f"From the analysis [`{table.analysis}`](analyses.md#{table.analysis})." if table.analysis else ""
    lines = [
        source,
        f"Rows of two ranks match by {', '.join(f'`{key}`' for key in table.keys)}." if table.keys else "",
        f"Narrowed by {', '.join(f'`{one.name}`' for one in table.filters)}." if table.filters else "",
        f"Rows lead to slices of `{table.slices.table}`." if table.slices else "",
    ]
    shown = [name for name in table.columns if unit_of(name) != "id"]
    columns = ", ".join(f"`{name}` ({unit_of(name)})" for name in shown)
    return "\n\n".join([f"## {table.name}", *filter(None, [" ".join(filter(None, lines))]), f"Columns: {columns}."])


def analyses_page() -> str:
    db = _empty_tables()
    parts = [
        "# Analyses",
        GENERATED,
        "Each analysis is a function of `ascend_sn.analysis`: a run in, one relation out. Where a table that it needs "
        "was not collected, it raises `NotCollectedError`, which names the option that collects it; "
        "`ascend_sn.analysis.result(run, name)` returns that as a `Missing` instead. Codes are the ids of the "
        "definitions. What the single figures mean is also listed by name in [Metrics](metrics.md).",
        '```python\nimport ascend_sn\n\nrun = ascend_sn.open("result/")\nascend_sn.analysis.step_breakdown(run)\n```',
    ]
    parts += [_analysis_section(found, db) for found in analysis.ANALYSES]
    parts += [
        "## Of the replayed step",
        "These follow the dependency graph of the [replay](../explanation/replay.md) and are functions of "
        "`ascend_sn.replay`, which are called in the same way:",
        '```python\nimport ascend_sn\n\nrun = ascend_sn.open("result/")\nascend_sn.replay.path_classes(run)\n```',
    ]
    parts += [_analysis_section(found, db) for found in replay.ANALYSES]
    parts += [
        "## Definitions that are elsewhere",
        "A02 Steps: the table [`step`](tables.md#step); its `origin` says what a step was found by, and inferred ones "
        "stand beside the whole capture, never instead of it.",
        "A35 Two runs: [`ascend_sn.compare`](python.md#ascend_sncompare), also `ascend-sn compare`; it takes two runs, "
        "or two groups of them, and gives operators that were matched, and parts that add up to the difference.",
    ]
    return _page(parts)


def _analysis_section(found: Analysis, db: duckdb.DuckDBPyConnection) -> str:
    relation = evaluate(found, db).relation()
    needs = ", ".join(_need(need) for need in found.needs) or "nothing in particular"
    columns = ", ".join(f"`{name}`" for name in relation.columns)
    text = [f"## {found.name}", f"{found.code} {found.title}. Needs: {needs}."]
    if found.combine is not None:
        text += described(found.per_profile)[:1]
        text.append("Across profiles:")
        text += described(found.combine)
    else:
        text += described(found.per_profile)
    text.append(f"Columns: {columns}.")
    return "\n\n".join(text)


def _need(need: Need) -> str:
    asked = f"`{need.table}`" if need.column is None else f"`{need.table}.{need.column}`"
    return " or ".join([asked, *(f"`{name}`" for name in need.alternatives)])


def metrics_page() -> str:
    parts = [
        "# Metrics",
        GENERATED,
        "Every figure that an analysis gives, by name, with its unit and its definition. One name in two analyses is "
        "the same kind of figure over the window that the analysis names. Shares are ratios from 0 to 1; percent "
        "exists only where text is made.",
        _grid(("figure", "unit", "analysis", "definition"), metrics()),
    ]
    return _page(parts)


def metrics() -> list[tuple[str, str, str, str]]:
    """Return figure, unit, link to the analysis and definition, by name."""
    db = _empty_tables()
    rows = []
    for found in (*analysis.ANALYSES, *replay.ANALYSES):
        relation = evaluate(found, db).relation()
        for name, kind in zip(relation.columns, relation.types, strict=True):
            if str(kind) in ("VARCHAR", "BOOLEAN") or IDENTITY.match(name):
                continue
            link = f"[{found.name}](analyses.md#{found.name})"
            rows.append((f"`{name}`", _unit(name), link, definition(found, name)))
    return sorted(rows)


def definition(found: Analysis, name: str) -> str:
    """Return what the docstring says about a result column, else what the name means everywhere, else nothing."""
    functions = [found.combine, found.per_profile] if found.combine is not None else [found.per_profile]
    for function in functions:
        text = " ".join(_section(function, "Returns"))
        said = explanation(text, name)
        if said:
            return said
    return COMMON.get(name, "")


def explanation(text: str, name: str) -> str:
    """Return what is said in parentheses behind a name, or its formula.

    Parentheses behind a list explain its last name only, unless they begin with "each".

    >>> explanation("a_ns, b_ns (each: sum of a call), c_ratio = a_ns / b_ns, d (last).", "a_ns")
    'sum of a call'
    >>> explanation("a_ns, b_ns (each: sum of a call), c_ratio = a_ns / b_ns, d (last).", "c_ratio")
    'a_ns / b_ns'
    >>> explanation("a_ns, d (last).", "a_ns")
    ''
    """
    for at in (found.end() for found in re.finditer(rf"(?<![\w.]){re.escape(name)}(?!\w)", text)):
        if text[at:].startswith(" ("):
            return re.sub(r"^each:? ", "", _balanced(text[at + 2 :]))
        if text[at:].startswith(" = "):
            return _clause(text[at + 3 :])
        behind = re.sub(r"^(?:(?:,| and|, and) \w+)+", "", text[at:])
        if behind.startswith((" (each: ", " (each ")):
            return re.sub(r"^each:? ", "", _balanced(behind[2:]))
    return ""


def _balanced(text: str) -> str:
    depth = 1
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if not depth:
            return text[:at]
    return text


def _clause(text: str) -> str:
    depth = 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 and (character in ",;" or text[at : at + 2] in (". ", ".")):
            return text[:at]
    return text.rstrip(".")


def rules_page() -> str:
    tables = Thresholds.of_package().tables()
    general = [(f"`{name}`", _number(value)) for name, value in tables["advisor"].items()]
    parts = [
        "# Rules of the advisor",
        GENERATED,
        "Each rule looks for one pattern in the analyses of a run. What it finds is priced by "
        "[replaying](../explanation/replay.md) the step with the change made; the expected gain alone makes a finding "
        "critical, a warning or an info. How to use them: [Advice](../how-to/advice.md).",
        "`ascend-sn analyze RUN --explain CODE` shows a rule beside what it saw in a run, also in Chinese. Thresholds "
        "can be set in `ascend-sn.toml` (`[advisor.CODE]`) or with `--threshold CODE.name=number`; these hold for all "
        "rules (`[advisor]`):",
        _grid(("threshold", "value"), general),
    ]
    english = Language.load("en")
    for code in rules.CODES:
        rule = rules.load(code)
        parts += [
            f"## {code} {rule.name}",
            english.outline(rule.text("title")) + ".",
            english.outline(rule.text("why")),
            f"*Do.* {english.outline(rule.text('advice'))}",
            *(
                f"*Do, {ON_DEVICE[kind]}.* {english.outline(text)}"
                for kind, text in DEVICE_TEXTS.get(rule.text("advice"), {}).items()
            ),
            f"*Verify.* {english.outline(rule.text('verify'))}",
            f"*Not when.* {english.outline(rule.text('not-when'))}",
            f"Topic: {rule.topic}. To change: {rule.effort}. Needs: "
            + (", ".join(f"[`{name}`](analyses.md#{name})" for name in rule.needs) or "nothing in particular")
            + "."
            + (" Its severity is that of the risk, not of a gain." if rule.is_risk else ""),
        ]
        limits = [(f"`{name}`", _number(value)) for name, value in tables.get(code, {}).items()]
        if limits:
            parts.append(_grid(("threshold", "value"), limits))
    return _page(parts)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def python_page() -> str:
    parts = [
        "# Python",
        GENERATED,
        "The reading side; what records is described under [Profiler](profiler.md). All times are nanoseconds.",
        "## ascend_sn.open",
        _signature("ascend_sn.open", ascend_sn.open),
        *described(ascend_sn.open),
        "## ascend_sn.Run",
        *described(ascend_sn.Run),
    ]
    for name, member in inspect.getmembers_static(ascend_sn.Run):
        is_property = isinstance(member, property)
        if name.startswith("_") or not (is_property or callable(member)):
            continue
        shown = f"`Run.{name}`" if is_property else f"`Run.{name}{_plain(inspect.signature(member))}`"
        parts.append(f"{shown}: {' '.join(described(member.fget if is_property else member))}")
    parts += [
        "## ascend_sn.analysis",
        "Every analysis is a function of this module; see [Analyses](analyses.md).",
        _signature("ascend_sn.analysis.result", analysis.result),
        *described(analysis.result),
        _signature("ascend_sn.analysis.absence", analysis.absence),
        *described(analysis.absence),
        "`ascend_sn.analysis.ANALYSES` is the tuple of all registered analyses, in the order of that page.",
        f"`ascend_sn.analysis.Missing`: {' '.join(paragraphs(Missing.__doc__))}",
        "## ascend_sn.analyze",
        _signature("ascend_sn.analyze", ascend_sn.analyze),
        *described(ascend_sn.analyze),
        f"`ascend_sn.Document`: {' '.join(described(ascend_sn.Document))} Every section is described by the "
        "[JSON Schema](analyze.schema.json).",
        *(
            f"`Document.{name}()`: {' '.join(described(getattr(ascend_sn.Document, name)))}"
            for name in ("json", "markdown", "html")
        ),
        "## ascend_sn.replay",
        "Analyses that follow the critical path of a run; see [Analyses](analyses.md#of-the-replayed-step). "
        "`Replay.of(run)` builds the graph itself.",
        *(f"`ascend_sn.replay.{found.name}(run)`: {found.code} {found.title}." for found in replay.ANALYSES),
        "## ascend_sn.advise",
        _signature("ascend_sn.advise", ascend_sn.advise),
        *described(ascend_sn.advise),
        "What it returns holds messages, not texts: an id and its parameters, of which a reader's language makes a "
        "sentence: `ascend_sn.say(finding.title)`. The rules are described under [Rules](rules.md).",
        *(f"`{one.__name__}`: {' '.join(described(one))}" for one in (Advice, Finding, PricedGain, Suppressed)),
        "## ascend_sn.say",
        _signature("ascend_sn.say", ascend_sn.say),
        *described(ascend_sn.say),
        "## ascend_sn.compare",
        _signature("ascend_sn.compare", compare),
        *described(compare),
        *(
            f"`{one.__name__}`: {' '.join(described(one))}"
            for one in (Comparison, Judgement, Attribution, Contribution, Scaling, OperatorChange)
        ),
        "## asc_tools.advisor",
        "The same as `ascend_sn.Analyzer` and `ascend_sn.AnalysisProfile`: findings as texts, pairs of ranks. An item "
        'answers both `finding["severity"]` and `finding.severity`.',
        _signature("asc_tools.advisor.Analyzer", ascend_sn.Analyzer),
        *described(ascend_sn.Analyzer),
        _signature("Analyzer.analyze", ascend_sn.Analyzer.analyze),
        *described(ascend_sn.Analyzer.analyze),
        *(f"`{one.__name__}`: {' '.join(described(one))}" for one in (AnalysisReport, ReportFinding, CommPair)),
        "`AnalysisProfile`: " + ", ".join(f"`{one.name}`" for one in ascend_sn.AnalysisProfile) + ".",
        "## Errors",
        "Everything raised on purpose is an `ascend_sn.errors.AscendSnError`; its `exit_code` is what the command "
        "line ends with.",
        _grid(("class", "exit code", "meaning"), [_error(getattr(errors, name)) for name in errors.__all__]),
    ]
    return _page(parts)


def _error(kind: type[errors.AscendSnError]) -> tuple[str, str, str]:
    return f"`{kind.__name__}`", str(kind.exit_code), " ".join(paragraphs(kind.__doc__))


def _signature(name: str, function: Callable[..., Any]) -> str:
    return f"```text\n{name}{_plain(inspect.signature(function))}\n```"


def _plain(signature: inspect.Signature) -> str:
    """A signature without the annotations, which name types by where they are defined."""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


def described(function: Any) -> list[str]:
    """Return the docstring of a function as paragraphs: what it does, what it takes, returns and raises."""
    found = paragraphs(function.__doc__)
    for title in ("Args", "Attributes", "Returns", "Raises"):
        section = _section(function, title)
        if section and not (title == "Args" and section[0].startswith("db:")):
            found.append(f"{title}:\n\n" + "\n".join(f"- {item}" for item in _items(section, title)))
    return found


def _items(section: list[str], title: str) -> list[str]:
    if title == "Returns":
        return section
    return [re.sub(r"^(\w+):", r"`\1`:", item) for item in section]


def paragraphs(docstring: str | None) -> list[str]:
    """Return the paragraphs before the first section of a docstring, each on one line."""
    text = inspect.cleandoc(docstring or "")
    head = re.split(r"\n\n(?:Args|Returns|Raises|Attributes):\n", "\n\n" + text.strip())[0].strip()
    return [_joined(part) for part in head.split("\n\n") if part.strip()]


def _joined(paragraph: str) -> str:
    """One line, or one per item of a numbered list."""
    lines = re.split(r"\n(?=\d+\. )", paragraph)
    return "\n".join(" ".join(line.split()) for line in lines)


def _section(function: Any, title: str) -> list[str]:
    """Return the items (Args, Raises) or the paragraphs (Returns) of a section of the docstring."""
    text = inspect.cleandoc(function.__doc__ or "")
    found = re.search(rf"^{title}:\n(.*?)(?=^\S|\Z)", text, re.DOTALL | re.MULTILINE)
    if found is None:
        return []
    body = inspect.cleandoc(found[1])
    parts = body.split("\n\n") if title == "Returns" else re.split(r"\n(?=\S)", body)
    return [" ".join(part.split()) for part in parts if part.strip()]


def _unit(name: str) -> str:
    return next((unit for suffix, unit in UNITS if name.endswith(suffix)), "")


def _grid(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)


def _page(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"


def _empty_tables() -> duckdb.DuckDBPyConnection:
    db = duckdb.connect()
    for table in TABLES:
        db.execute(ddl(table))
    return db


def main() -> int:
    stale = []
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        path = FOLDER / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv[1:]:
                path.write_text(text, encoding="utf-8")
    print(f"{'not up to date' if '--check' in sys.argv[1:] else 'written'}: {', '.join(stale) or 'nothing'}")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
