"""What gymnasium reads when it is imported: the names of the environments, and nothing heavy.

The package's entry point `gymnasium.envs` names `register`, so that
`gymnasium.make("outrider/tickets-v0")` works without any import of ours. Apps and tasks load when
an environment is made.
"""

from __future__ import annotations

import gymnasium

ENTRY_POINT = "apps_mock.environments:PhoneEnv"

SUITES = (
    "all",
    "androidworld",
    "browser",
    "calendar",
    "clock",
    "contacts",
    "cross_app",
    "files",
    "general",
    "install",
    "messages",
    "notes",
    "settings",
    "shop",
    "store",
    "tickets",
    "todo",
    "web_shopping",
)
"""A test holds them equal to `tasks.suites` and "all"; to load `tasks` here takes too long."""


def register() -> None:
    """Register `outrider/<suite>-v0` for every suite."""
    for suite in SUITES:
        name = f"outrider/{suite}-v0"
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point=ENTRY_POINT, kwargs={"suite": suite})
