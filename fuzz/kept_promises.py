"""Damage what ascend-sn keeps itself in named ways, and hold what is shown then against what is promised.

    python -m fuzz.kept_promises [--kind NAME] [--files N] [--each N] [--damage NAME]

What is shown is the same (made anew, or not touched by the damage), or refused in one line that names the place; never
a traceback, a hang, or a figure that is silently another one. Faults are listed, and end with 1.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import shutil
import signal
import tempfile
import traceback
from pathlib import Path
from typing import Any, Final

import msgspec

from ascend_sn.errors import AscendSnError
from fuzz.corpus import Seed
from fuzz.damages import Damage, Expected, Node, damages
from fuzz.kept import KINDS, Kind, World, kept_files, kind_of, make_world
from fuzz.promises import hold_to, place_node, tell

__all__ = ["Shown", "faults_of_kind", "main", "shown_of", "tried_of"]

_HANGS_AFTER_S: Final = 60
_IN_MEMORY: Final = next((place for place in ("/dev/shm",) if os.access(place, os.W_OK)), None)
"""A file system on which flushing costs nothing, where there is one."""

_WRITTEN_IN_PLACE: Final = (".db", ".toml", ".jsonl", ".lock")
"""Ends of files that are changed where they lie; all others are replaced, so that a link keeps what they held."""


class Shown(msgspec.Struct):
    """What is shown: an answer, or a refusal, or a fault."""

    answer: Any = None
    refused: str = ""
    fault: str = ""


def shown_of(kind: Kind, world: World) -> Shown:
    """Ask for what the files of a kind hold."""
    signal.alarm(_HANGS_AFTER_S)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return Shown(kind.ask(world))
    except AscendSnError as error:
        return Shown(refused=str(error))
    except Exception:  # noqa: BLE001 - whatever it is, it is the fault that is looked for
        return Shown(fault=traceback.format_exc())
    finally:
        signal.alarm(0)


def tried_of(name: str, world: World, files: int | None, each: int | None) -> list[Damage]:
    """Return damages of files of a kind: of at most so many files, and of these at most so many damages."""
    dice = random.Random(name)
    names = [file for file in kept_files(world) if kind_of(file) == [name]]
    chosen = names if files is None or len(names) <= files else sorted(dice.sample(names, files))
    tried = []
    for file in chosen:
        found = list(damages(Seed({file: (world.kept / file).read_bytes()}, ""), each=None if each is None else 1))
        tried += found if each is None or len(found) <= each else sorted(dice.sample(found, each), key=found.index)
    return tried


def faults_of_kind(name: str, world: World, tried: list[Damage]) -> list[str]:
    """Damage files of a kind, one at a time, and return what broke a promise."""
    kind, sound_kept = KINDS[name], world.top / "sound"
    if not sound_kept.exists():
        _copy(world.kept, sound_kept)
    sound = shown_of(kind, world)
    assert sound.answer is not None, sound
    faults = []
    for damage in tried:
        path = world.kept / damage.file
        content = path.read_bytes()
        path.unlink()
        if isinstance(damage.content, Node):
            place_node(damage.content, path, content)
        else:
            path.write_bytes(damage.content if isinstance(damage.content, bytes) else damage.content())
        fault = _judged(kind, damage, sound, shown_of(kind, world), world)
        if fault:
            faults.append(f"{damage.kind} | {damage.file} | {damage.place}: {fault}")
        shutil.rmtree(world.kept)
        _copy(sound_kept, world.kept)
    return faults


def _judged(kind: Kind, damage: Damage, sound: Shown, shown: Shown, world: World) -> str:
    if shown.fault:
        return shown.fault
    if shown.refused:
        is_told = len(shown.refused.splitlines()) == 1 and str(world.kept) in shown.refused
        return "" if is_told else f"refused in other than one line with its place: {shown.refused!r}"
    if shown.answer == sound.answer or (damage.expected is Expected.WORDS and not kind.is_summed):
        return ""
    if kind.is_free and not isinstance(damage.content, Node):
        return ""
    if kind.may_lack and (not shown.answer or all(one in sound.answer for one in shown.answer)):
        return ""
    return f"silently another one: {str(sound.answer)[:200]} became {str(shown.answer)[:200]}"


def _copy(source: Path, target: Path) -> None:
    def link(file: str, place: str) -> None:
        (shutil.copy2 if file.endswith(_WRITTEN_IN_PLACE) else os.link)(file, place)

    shutil.copytree(source, target, copy_function=link)


def main() -> None:
    options = argparse.ArgumentParser(description="Hold damaged files of our own against what is promised.")
    options.add_argument("--kind", choices=list(KINDS), action="append")
    options.add_argument("--files", type=int, help="files of each kind; all without it")
    options.add_argument("--each", type=int, help="damages of each file; all without it")
    options.add_argument("--damage", default="", help="only those whose name holds this")
    chosen = options.parse_args()
    hold_to("fuzz.kept_promises")
    broken = False
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY) as folder, contextlib.redirect_stderr(io.StringIO()):
        world = make_world(Path(folder))
        for name in chosen.kind or KINDS:
            tried = [one for one in tried_of(name, world, chosen.files, chosen.each) if chosen.damage in one.kind]
            broken |= tell(name, len(tried), faults_of_kind(name, world, tried))
    raise SystemExit(broken)


if __name__ == "__main__":
    main()
