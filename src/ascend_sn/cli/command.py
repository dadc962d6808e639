"""How our commands read their words: spellings of the guides, switches, and help in the reader's language."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click

from ascend_sn.report.words.language import CODES, Language

__all__ = [
    "ANY_PATH",
    "GuideCommand",
    "common_options",
    "input_option",
    "input_options",
    "job_option",
    "language_of",
    "language_option",
    "redact_option",
    "rules_option",
    "switch",
    "write_options",
]

_SWITCH_WORDS: Final = frozenset({"true", "false", "1", "0", "yes", "no", "on", "off", "t", "f", "y", "n"})

_OF_CLICK: Final = {
    "Show this message and exit.": "cli.option.help",
    "Show the version and exit.": "cli.option.version",
}
"""The help of the options that click brings along, and our message of each."""

Decorator = Callable[[Any], Any]

ANY_PATH: Final = click.Path(path_type=Path, readable=False)
"""Whoever opens the path says what is wrong with it, in one line."""


class GuideCommand(click.Command):
    """A command whose options take dashes and underscores alike, and whose switches take `True` or nothing.

    Help texts are message ids; they are looked up when the help is printed.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Rewrite the guides' spellings to ours, then parse."""
        own = len(args) if ctx.allow_interspersed_args else self._own_words(args)
        return super().parse_args(ctx, [*_rewritten(args[:own], self._switches()), *args[own:]])

    def _own_words(self, args: list[str]) -> int:
        """Count the words before the first one that is no option of ours: there the words of a program begin."""
        switches = self._switches()
        options = {name for one in self.params if isinstance(one, click.Option) for name in one.opts}
        place = 0
        while place < len(args) and args[place].startswith("-") and args[place] != "--":
            name, equals, _ = args[place].replace("_", "-").partition("=")
            following = args[place + 1].lower() if place + 1 < len(args) else ""
            takes_word = following in _SWITCH_WORDS if name in switches else name in options
            place += 2 if takes_word and not equals else 1
        return min(place, len(args))

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """The names of the help option, whichever way the command was reached (click keeps the first answer)."""
        return ["-h", "--help"]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the command does, in the reader's language."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(language_of(ctx).text(f"cli.{self.name}.help"))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in the reader's language."""
        write_options(self, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples."""
        language = language_of(ctx)
        with formatter.section(language.text("cli.examples")):
            for line in language.text(f"cli.{self.name}.examples").splitlines():
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")

    def _switches(self) -> frozenset[str]:
        switches = [option for option in self.params if isinstance(option, click.Option) and _is_switch(option)]
        return frozenset(name for option in switches for name in option.opts)


def switch(name: str, *, help: str) -> Decorator:
    """An option that is on when it is named, also with `True` or `False` behind it."""
    return click.option(name, type=bool, is_flag=False, flag_value=True, default=False, metavar="[True]", help=help)


def common_options(*, formats: tuple[str, ...] = ("text", "json")) -> Decorator:
    """The options of every command: input, format of the output, language, cache, strictness."""
    options = (
        input_options(),
        click.option("--format", "output_format", type=click.Choice(formats), help="cli.option.format"),
        click.option("--cache-dir", type=ANY_PATH, metavar="DIR", help="cli.option.cache-dir"),
        switch("--strict", help="cli.option.strict"),
        language_option(),
    )

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def input_options() -> Decorator:
    """Paths as arguments, or with `--input`, which may be repeated; several are read as one input."""
    argument = click.argument("paths", nargs=-1, metavar="[PATH]...", type=ANY_PATH)
    option = input_option()
    return lambda command: argument(option(command))


def input_option() -> Decorator:
    """`--input`, which may be repeated."""
    return click.option("--input", "input_paths", multiple=True, type=ANY_PATH, metavar="PATH", help="cli.option.input")


def job_option() -> Decorator:
    """`--job`: which one, where the input holds several jobs."""
    return click.option("--job", metavar="NAME", help="cli.option.job")


def redact_option() -> Decorator:
    """`--redact`: stand-ins for paths, users and hosts."""
    return switch("--redact", help="cli.option.redact")


def rules_option() -> Decorator:
    """`--rules`: files or modules with rules of the user."""
    return click.option("--rules", "rule_places", multiple=True, metavar="FILE", help="cli.option.rules")


def language_option() -> Decorator:
    """`--lang`; the value becomes a Language, by default that of the group or of the environment."""
    return click.option(
        "--lang",
        "language",
        type=click.Choice(CODES),
        callback=lambda ctx, _option, code: Language.load(code) if code else language_of(ctx),
        help="cli.option.lang",
    )


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the options of a command, their help looked up by message id."""
    language = language_of(ctx)
    records = []
    for option in command.get_params(ctx):
        record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
        if record is not None:
            message_id, gap, default = record[1].partition("  ")  # click appends ranges and defaults
            message_id = _OF_CLICK.get(message_id, message_id)
            text = language.text(message_id) if language.has(message_id) else message_id
            records.append((record[0], text + gap + default))
    with formatter.section(language.text("cli.options")):
        formatter.write_dl(records)


def language_of(ctx: click.Context) -> Language:
    """Return the language that `main` found."""
    language = ctx.find_object(Language)
    if language is None:
        raise LookupError("the command was not started through main()")
    return language


def _rewritten(args: list[str], switches: frozenset[str]) -> Iterator[str]:
    words = iter(args)
    pending = next(words, None)
    while pending is not None:
        word, pending = pending, next(words, None)
        if word == "--":
            yield word
            while pending is not None:
                yield pending
                pending = next(words, None)
            return
        if not word.startswith("--"):
            yield word
            continue
        name, equals, value = word.partition("=")
        name = name.replace("_", "-")
        if name in switches and not equals:
            equals, value = "=", "True"
            if pending is not None and pending.lower() in _SWITCH_WORDS:
                value, pending = pending, next(words, None)
        yield name + equals + value


def _is_switch(option: click.Option) -> bool:
    return option.flag_value is True and not option.is_flag
