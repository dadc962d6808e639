"""`ascend-sn mcp`: runs for agents, over standard input and output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from ascend_sn.cli.command import ANY_PATH, GuideCommand, input_options, language_option, redact_option
from ascend_sn.cli.comparing import comparison_of
from ascend_sn.cli.opening import document_of, input_of
from ascend_sn.report.words.language import Language
from ascend_sn.store.input import Input

if TYPE_CHECKING:
    from ascend_sn.report.documents.views import Selection
    from ascend_sn.store.sandbox import Sandbox

_ROWS: Final = 500
_SECONDS: Final = 30.0


@click.command(cls=GuideCommand)
@input_options()
@redact_option()
@click.option("--cache-dir", type=ANY_PATH, metavar="DIR", help="cli.option.cache-dir")
@language_option()
def mcp(
    *,
    paths: tuple[Path, ...],
    input_paths: tuple[Path, ...],
    redact: bool,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """Serve runs to an agent until it closes standard input."""
    from ascend_sn.mcp.server import serve

    named = input_of(paths, input_paths)
    serve(_ServedRuns(named.paths, language, cache_dir, redact=redact))
    return 0


class _ServedRuns:
    """The runs of the command line, each path one run; opened when they are asked about."""

    def __init__(self, paths: Sequence[Path], language: Language, cache_dir: Path | None, *, redact: bool) -> None:
        self._language = language
        self._cache_dir = cache_dir
        self._redact = redact
        called = [f"run-{number}" if redact else Input.of(path).name for number, path in enumerate(paths, 1)]
        unique = [name if called.count(name) == 1 else f"{name}-{at}" for at, name in enumerate(called, 1)]
        self._paths = dict(zip(unique, paths, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """Their names: those of their folders, or numbers where these may not be said."""
        return tuple(self._paths)

    def document(self, name: str) -> Mapping[str, Any]:
        """Return the document of a run."""
        document = document_of(
            Input.of(self._paths[name]),
            self._language,
            cache_dir=self._cache_dir,
            selection=_selection(),
            redact=self._redact,
        )
        found: Mapping[str, Any] = msgspec.to_builtins(document)
        return found

    def comparison(self, baseline: str, candidate: str) -> Mapping[str, Any]:
        """Return the document of a comparison."""
        document = comparison_of(
            [self._paths[baseline]],
            [self._paths[candidate]],
            self._language,
            cache_dir=self._cache_dir,
            redact=self._redact,
        )
        found: Mapping[str, Any] = msgspec.to_builtins(document)
        return found

    def sandbox(self, name: str) -> Sandbox:
        """Return a sandbox on the tables of a run."""
        from ascend_sn.store import open_run
        from ascend_sn.store.redacted_run import redacted_run
        from ascend_sn.store.sandbox import Sandbox

        with ExitStack() as stack:
            run = stack.enter_context(open_run(self._paths[name], cache_dir=self._cache_dir))
            if self._redact:
                run = stack.enter_context(redacted_run(run))
            sandbox = Sandbox(run, timeout_s=_SECONDS)
            sandbox.keep_open(stack.pop_all())
        return sandbox


def _selection() -> Selection:
    from ascend_sn.report.documents.views import SECTIONS, Selection

    return Selection(top_k=_ROWS, details=frozenset(SECTIONS) - {"timeline"})
