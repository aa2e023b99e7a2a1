"""What becomes of a device's desired settings when some of them are changed."""

from __future__ import annotations

from collections.abc import Mapping

from sync.messages import SettingValue

SettingsChange = Mapping[str, SettingValue | None]
"""New values by name; None takes a setting away, so that the device has its own value again."""


def changed(values: Mapping[str, SettingValue], change: SettingsChange) -> dict[str, SettingValue]:
    """The settings after a change."""
    after = {**values, **change}
    return {name: value for name, value in after.items() if value is not None}
