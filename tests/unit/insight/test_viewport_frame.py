"""The bytes of a viewport: the same ones that the page's own test decodes (frontend/tests/insight-timeline-frame)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ascend_sn.insight.viewport import BLOCK, COLUMNS, HEAD, MAGIC, VERSION

FRAME_TEST = Path(__file__).resolve().parents[3] / "frontend" / "tests" / "insight-timeline-frame.test.ts"

BLOCKS = [(1, 2, 0, 2, 5.0, 9.0), (1, 2, 1, 1, 1.0, 1.0)]
ROWS = {
    "start": [2, 10, 3], "end": [6, 20, 5], "busy": [4, 7, 2], "slice": [0, 3, 0],
    "count": [1, 4, 1], "name": [7, 3, 0], "kind": [2, 1, 5],
}  # fmt: skip


def test_the_page_decodes_what_the_server_writes() -> None:
    head = np.array([(MAGIC, VERSION, len(BLOCKS), 3)], HEAD)
    columns = (np.array(ROWS[name], type_) for name, type_ in COLUMNS)

    written = b"".join([head.tobytes(), np.array(BLOCKS, BLOCK).tobytes(), *(one.tobytes() for one in columns)])

    golden = FRAME_TEST.read_text(encoding="utf-8").split("const GOLDEN =", 1)[1].split(";\n", 1)[0]
    assert written.hex() == "".join(re.findall(r'"([0-9a-f]+)"', golden))
