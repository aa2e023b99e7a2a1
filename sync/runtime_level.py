"""What a phone's program has to be able to do for a release, as one number that only rises.

| level | releases may rely on |
|---|---|
| 0 | adapter files of the first form (`ORADAPT1`), for bases of layout_t5 |
| 1 | adapter files of the second form (`ORADAPT2`); bases that write their actions as text |

Whoever adds something that older programs cannot run adds a level, raises `RUNTIME_LEVEL`, and lets
`runtime_needed` say which releases need it: phones refuse those before they download anything.
"""

from __future__ import annotations

from typing import Final

from sync.adapter_file import form_of
from sync.text_policy_io import LANGUAGES

RUNTIME_LEVEL: Final = 1
"""What this program's phones can run."""
_SECOND_FORM: Final = 1
_TEXTS: Final = 1


def runtime_needed(adapter: bytes, *, policy_io_version: str) -> int:
    """The lowest level of a phone's program that can run a release.

    Args:
        adapter: its adapter file.
        policy_io_version: what it was trained with.

    Raises: RejectedError: this is no adapter file.
    """
    return max(
        _SECOND_FORM if form_of(adapter) > 1 else 0,
        _TEXTS if policy_io_version in LANGUAGES else 0,
    )
