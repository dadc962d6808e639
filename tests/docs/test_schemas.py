"""The page of JSON schemas has a row for each schema, with the name that its objects carry."""

from __future__ import annotations

import json
import re

from tests.docs.blocks import REPOSITORY

FOLDER = REPOSITORY / "docs" / "reference"


def test_every_schema_has_its_row() -> None:
    told = dict(re.findall(r"^\| \[[\w-]+\]\((\S+)\) \| `(\S+)` \|", (FOLDER / "schemas.md").read_text("utf-8"), re.M))

    written = {}
    for path in sorted(FOLDER.glob("*.schema.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        (written[path.name],) = schema["$defs"][schema["$ref"].split("/")[-1]]["properties"]["schema"]["enum"]
    assert told == written
