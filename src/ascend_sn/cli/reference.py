"""Write the reference of the command line and the JSON Schemas: `python -m ascend_sn.cli.reference docs/reference`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from ascend_sn.cli.main import COMMANDS, command_group
from ascend_sn.report.documents.as_json import analyze_schema, doctor_schema
from ascend_sn.report.documents.comparison_schema import compare_schema, gate_schema, null_schema
from ascend_sn.report.documents.history_schema import history_schema, trend_schema
from ascend_sn.report.words.language import Language

__all__ = ["pages"]

_EXIT_CODES = (
    ("0", "fine, also with damage that was worked around, and for a comparison without a clear result"),
    (
        "1",
        "a finding at `--fail-on`; a regression; with `--strict`: something was damaged, a possible regression, "
        "no clear result",
    ),
    ("2", "usage: an unknown option, no input, an output file that is not ours"),
    (
        "3",
        "the input cannot be used: no such path, empty, an unknown format, not parsed yet; "
        "runs that cannot be compared",
    ),
    ("4", "a defect of ascend-sn; the traceback is printed"),
    ("130", "interrupted with Ctrl-C"),
)

_VARIABLES = (
    ("ASCEND_SN_LANG", "language of all texts, `en` or `zh`; else the locale decides"),
    ("ASCEND_SN_CACHE_DIR", "the cache; else `$XDG_CACHE_HOME/ascend-sn`, else `~/.cache/ascend-sn`"),
    ("ASCEND_SN_CACHE_MAX", "its limit in bytes, 20 GB by default; the least recently used runs go first"),
    (
        "ASCEND_SN_HISTORY",
        "the history of baselines: a file, `sqlite:///FILE` or `postgresql://USER:PASSWORD@HOST/DATABASE`",
    ),
    (
        "ASCEND_SN_NOTIFY",
        "whom `gate --notify` tells, beside `targets` of `[notify]`: addresses of apprise, parted by blanks",
    ),
)


def pages() -> dict[str, str]:
    """Return the generated files of `docs/reference` by name."""
    return {
        "cli.md": _cli_page(),
        "analyze.schema.json": _json(analyze_schema()),
        "doctor.schema.json": _json(doctor_schema()),
        "compare.schema.json": _json(compare_schema()),
        "gate.schema.json": _json(gate_schema()),
        "gate-null.schema.json": _json(null_schema()),
        "history.schema.json": _json(history_schema()),
        "trend.schema.json": _json(trend_schema()),
    }


def _cli_page() -> str:
    language = Language.load("en")
    context = click.Context(command_group, info_name="ascend-sn", obj=language, **command_group.context_settings)
    lines = [
        "# Command line",
        "",
        "<!-- Made by `python -m ascend_sn.cli.reference docs/reference` from the options and catalogues. -->",
        "",
        "A path given with `--input` or as an argument means the same; several are read as one input. Options take "
        "dashes and underscores alike (`--top-k`, `--top_k`); a switch works with and without `True`. Results go to "
        "standard output, words about the work to standard error. Nothing is ever written into the input, except a "
        "file that `--output` names there.",
        "",
        "| command | what it shows |",
        "|---|---|",
        *(f"| [{name}](#ascend-sn-{name}) | {language.text(f'cli.{name}.summary')} |" for name in COMMANDS),
    ]
    for name in COMMANDS:
        command = command_group.get_command(context, name)
        assert command is not None
        lines += ["", f"## ascend-sn {name}", "", *_command(command, name, context, language)]
    lines += ["", "## Exit codes", "", "| code | meaning |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in _EXIT_CODES]
    lines += ["", "## Environment variables", "", "| variable | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in _VARIABLES]
    lines += ["", "These are the program's own; [Environment variables](environment.md) has all that are read."]
    lines += [
        "",
        "## JSON",
        "",
        "`analyze --format json` prints one object, described by [analyze.schema.json](analyze.schema.json); "
        "`doctor --format json` one described by [doctor.schema.json](doctor.schema.json), `compare` by "
        "[compare.schema.json](compare.schema.json), `gate` by [gate.schema.json](gate.schema.json), `gate --null` by "
        "[gate-null.schema.json](gate-null.schema.json), `history` by [history.schema.json](history.schema.json), "
        "`history trend` by [trend.schema.json](trend.schema.json). Every section has "
        "`collected` and `state`; an absent one says `reason` and `turn_on`. Times are whole nanoseconds, sizes bytes, "
        "shares ratios from 0 to 1; `null` means not collected, never zero. The part behind the last slash of `schema` "
        "changes when a field changes its meaning or goes.",
    ]
    return "\n".join(lines) + "\n"


def _command(command: click.Command, name: str, parent: click.Context, language: Language) -> list[str]:
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [language.text(f"cli.{name}.help"), "", "```text", f"ascend-sn {name} {usage}", "```", ""]
    lines += ["| option | meaning |", "|---|---|"]
    for option in command.get_params(context):
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record is not None:
            message_id, _, bounds = record[1].partition("  ")
            text = language.text(message_id) if language.has(message_id) else message_id
            bounded = f" ({bounds.strip('[]')})" if bounds else ""
            lines.append(f"| `{record[0].replace('|', chr(92) + '|')}` | {text}{bounded} |")
    return [*lines, "", "```sh", *language.text(f"cli.{name}.examples").splitlines(), "```"]


def _json(schema: dict[str, object]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for file_name, text in pages().items():
        (Path(sys.argv[1]) / file_name).write_text(text, encoding="utf-8")
