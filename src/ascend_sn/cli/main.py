"""The entry point: languages, subcommands loaded on demand, errors as one line, exit codes."""

from __future__ import annotations

import errno
import gc
import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

import click

from ascend_sn._version import __version__
from ascend_sn.cli.command import language_of, write_options
from ascend_sn.errors import AscendSnError, StoreError, UnknownNameError
from ascend_sn.report.words.language import CODES, Language, code_of_environment
from ascend_sn.report.words.printable import printable

__all__ = ["COMMANDS", "EXIT_FINDINGS", "EXIT_INTERNAL", "EXIT_INTERRUPTED", "EXIT_USAGE", "command_group", "main"]

EXIT_FINDINGS: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERNAL: Final = 4
EXIT_INTERRUPTED: Final = 130

_COLLECT_AFTER: Final = 200_000
"""Objects made between two collections; Python's own 700 costs a tenth of the time of a small analysis."""

COMMANDS: Final = (
    "run",
    "attach",
    "infer",
    "atc",
    "throughput",
    "analyze",
    "report",
    "view",
    "query",
    "export",
    "compare",
    "gate",
    "history",
    "doctor",
    "demo",
    "ingest",
    "mcp",
)
"""Subcommands in the order of the help; each is a function of its name in its module."""


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is called, so that `--help` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the subcommands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"ascend_sn.cli.{cmd_name}"), cmd_name)
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse a command that is not there, with the likeliest meant one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            nearest = next(iter(get_close_matches(args[0], COMMANDS, n=1)), None)
            raise UnknownNameError("command", args[0], COMMANDS, nearest)
        return super().resolve_command(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the program does."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(language_of(ctx).text("cli.help"))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands with what they do, then the options."""
        language = language_of(ctx)
        with formatter.section(language.text("cli.commands")):
            formatter.write_dl([(name, language.text(f"cli.{name}.summary")) for name in COMMANDS])
        write_options(self, ctx, formatter)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="ascend-sn", message="%(prog)s %(version)s")
@click.option("--lang", type=click.Choice(CODES), expose_value=False, help="cli.option.lang")
def command_group() -> None:
    """Profile and analyse training and inference."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends the process with the exit code of what happened."""
    gc.set_threshold(_COLLECT_AFTER)
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None:  # started with a closed standard output
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - lives as long as the process
    try:
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the pipe has what it wanted. What Python would still flush goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        print(f"ascend-sn: the output cannot be written: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = StoreError.exit_code
    # The process ends: looking for garbage among all that it has loaded would cost a small analysis a tenth more.
    gc.freeze()
    sys.exit(code)


def _run(words: list[str]) -> int:
    language = Language.load(_code(words))
    try:
        # Not click's own main(): it would end a broken pipe with exit code 1.
        with command_group.make_context("ascend-sn", words, obj=language) as ctx:
            code = command_group.invoke(ctx)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show(sys.stderr)
        return EXIT_USAGE
    except AscendSnError as error:
        print(f"ascend-sn: {printable(str(error))}", file=sys.stderr)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print(language.text("cli.interrupted"), file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno == errno.ENOSPC:  # standard output is full; every other writer says so itself
            raise
        traceback.print_exc()
        return EXIT_INTERNAL
    except Exception:  # noqa: BLE001 - a defect: whatever is expected is an AscendSnError
        traceback.print_exc()
        return EXIT_INTERNAL
    return code if isinstance(code, int) else 0


def _code(words: list[str]) -> Any:
    """The language that the words name, wherever `--lang` stands; else that of the environment."""
    for at, word in enumerate(words):
        if word == "--":
            break
        name, _, value = word.partition("=")
        if name == "--lang":
            value = value or next(iter(words[at + 1 : at + 2]), "")
            if value in CODES:
                return value
    return code_of_environment()


if __name__ == "__main__":
    main()
