"""docs/phones.md accounts for every failure of the catalogue: with a test, or with a reason."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENTRIES = set(range(1, 49))
ROW = re.compile(r"^\| (\d+) \|.*\| ([^|]+) \|$", re.MULTILINE)


def rows() -> dict[int, str]:
    text = (ROOT / "docs/phones.md").read_text(encoding="utf-8")
    table = text.partition("## Failures of real phones")[2].partition("\n## ")[0]
    return {int(number): shown.strip() for number, shown in ROW.findall(table)}


def numbers_tested() -> set[int]:
    files = (ROOT / "tests/faults").glob("test_adb_catalogue_*.py")
    names = "".join(path.read_text(encoding="utf-8") for path in files)
    return {int(number) for number in re.findall(r"^def test_(\d\d)_", names, re.MULTILINE)}


def test_every_failure_has_a_row():
    assert set(rows()) == ENTRIES


def test_every_failure_has_a_test_or_a_reason():
    reasons = {number for number, shown in rows().items() if shown.startswith("no test: ")}

    assert {number for number, shown in rows().items() if shown == "test"} == numbers_tested()
    assert reasons == ENTRIES - numbers_tested()
