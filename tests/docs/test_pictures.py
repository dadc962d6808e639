"""Documentation without pictures says what they show."""

from __future__ import annotations

from pathlib import Path

from scripts.docs_pictures import told

PAGE = "Look:\n\n    ![The verdict](pictures/one-1.png) and ![the rest](pictures/one-2.png)\n"


def test_a_picture_that_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "one-1.png").touch()

    assert told(PAGE, tmp_path) == "Look:\n\n    ![The verdict](pictures/one-1.png) and *[the rest]*\n"
