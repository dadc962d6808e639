"""Every `ascend-sn` command that a page names exists, with the options that the page gives it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import click
import pytest

from ascend_sn.cli.main import command_group
from tests.docs.blocks import FENCE, PAGES, REPOSITORY, ascend_sn_arguments, commands

_CODE = re.compile(r"`(ascend-sn [^`]+)`")
_EVERYWHERE = {"--help", "-h", "--version"}


def _named(page: Path) -> list[tuple[str, ...]]:
    """The commands in the shell blocks of a page, and those written as code within its sentences and tables."""
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    told = [ascend_sn_arguments(code.replace("\n", " ").split("|")[0]) for code in _CODE.findall(prose)]
    return [*(command.arguments for command in commands(page)), *filter(None, told)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_the_commands_of_a_page_exist(page: Path) -> None:
    assert [(shlex.join(words), wrong) for words in _named(page) if (wrong := unknown(words))] == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("analyse", "result"), "No such command"),
        (("analyze", "result", "--fusion-reports"), "No such option"),
        (("analyze", "--fusion_report", "True", "result"), None),
        (("export", "result", "--format", "xml"), "does not take"),
        (("attach", "4711", "start"), None),
        (("--help",), None),
    ],
)
def test_what_does_not_exist_is_found(words: tuple[str, ...], reason: str | None) -> None:
    said = unknown(words)

    assert said is None if reason is None else reason in (said or "")


def unknown(words: tuple[str, ...]) -> str | None:
    """Return what is wrong with the words after `ascend-sn`: command, options, choices; None where all exist."""
    words = tuple(word for word in words if word not in _EVERYWHERE)
    if not words:
        return None
    with click.Context(command_group) as ctx:
        command = command_group.get_command(ctx, words[0])
        if command is None:
            return f"No such command {words[0]!r}"
    with click.Context(command) as ctx:
        declared = {name.replace("_", "-"): name for option in command.params for name in option.opts}
        try:
            values, _, _ = command.make_parser(ctx).parse_args([_spelled(word, declared) for word in words[1:]])
        except click.BadOptionUsage:  # an option that is named without a value, within a sentence
            return None
        except click.UsageError as wrong:
            return wrong.format_message()
        for option in filter(_is_option, command.params):
            value = values.get(str(option.name))
            if isinstance(option.type, click.Choice) and isinstance(value, str) and value not in option.type.choices:
                return f"{option.opts[0]} does not take {value!r}"
    return None


def _is_option(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option)


def _spelled(word: str, declared: Mapping[str, str]) -> str:
    """An option as it is declared; pages may write dashes or underscores."""
    name, equals, value = word.partition("=")
    return declared.get(name.replace("_", "-"), name) + equals + value if name.startswith("--") else word
