"""The texts of the web page: two languages with the same keys, and a typed dictionary made of them."""

from __future__ import annotations

import re
import string
from pathlib import Path
from typing import Any

import pytest

import hatch_build

pofile = pytest.importorskip("babel.messages.pofile", reason="babel reads the catalogues")

ROOT = Path(hatch_build.__file__).parent
SOURCES = [
    path
    for path in sorted((ROOT / hatch_build.FRONTEND / "src" / "insight").rglob("*"))
    if path.suffix in (".ts", ".tsx")
]


def messages(code: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / hatch_build.LOCALES / code / "LC_MESSAGES").glob("insight*.po")):
        with path.open("rb") as file:
            catalogue: Any = pofile.read_po(file, locale=code)
        for message in catalogue:
            if message.id:
                key = message.id[0] if isinstance(message.id, tuple) else message.id
                assert not message.fuzzy, key
                found[key] = list(message.string) if isinstance(message.string, tuple) else [message.string]
    return found


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_both_languages_say_the_same() -> None:
    english, chinese = messages("en"), messages("zh")

    odd = {
        key for key in english if len({frozenset(placeholders(one)) for one in english[key] + chinese.get(key, [])}) > 1
    }

    assert set(english) == set(chinese)
    assert [key for key, texts in {**english, **chinese}.items() if not all(texts)] == []
    assert odd == set()


def test_every_text_is_used() -> None:
    written = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    words = set(re.findall(r"[\"'`]([a-z][a-z0-9_.-]+)[\"'`]", written))
    families = set(re.findall(r"`([a-z][a-z0-9_-]*\.)\$\{", written))
    families |= {f"{name}." for name in re.findall(r"named\(\s*\"([a-z-]+)\"", written)}
    families |= {
        f"{name}." for line in re.findall(r": \[([a-z\", -]+)\],", written) for name in re.findall(r"[a-z-]+", line)
    }

    unused = {key for key in messages("en") if key not in words and not key.startswith(tuple(families))}

    assert unused == set()


def catalogue(root: Path, code: str, name: str, text: str) -> None:
    path = root / hatch_build.LOCALES / code / "LC_MESSAGES" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    forms = "nplurals=2; plural=(n != 1);" if code == "en" else "nplurals=1; plural=0;"
    head = f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Plural-Forms: {forms}\\n"\n\n'
    path.write_text(head + text, encoding="utf-8")


def test_the_dictionary_has_every_key_as_a_type(tmp_path: Path) -> None:
    catalogue(tmp_path, "en", "insight.po", 'msgid "page.a"\nmsgid_plural "page.a"\nmsgstr[0] "one"\nmsgstr[1] "two"\n')
    catalogue(tmp_path, "zh", "insight.po", 'msgid "page.a"\nmsgid_plural "page.a"\nmsgstr[0] "两"\n')
    catalogue(tmp_path, "en", "insight-more.po", 'msgid "b"\nmsgstr "say \\"b\\""\n')
    catalogue(tmp_path, "zh", "insight-more.po", 'msgid "b"\nmsgstr "乙"\n')

    hatch_build.write_words(tmp_path)

    text = (tmp_path / hatch_build.WORDS).read_text(encoding="utf-8")
    assert 'export type WordKey = "b" | "page.a";' in text
    assert '"say \\"b\\""' in text
    assert '"两"' in text


def test_a_text_that_one_language_lacks_stops_the_build(tmp_path: Path) -> None:
    catalogue(tmp_path, "en", "insight.po", 'msgid "page.a"\nmsgstr "a"\n')
    catalogue(tmp_path, "zh", "insight.po", "")

    with pytest.raises(hatch_build.NoWebError, match=r"not in both languages: page\.a"):
        hatch_build.write_words(tmp_path)
