"""Options of a server, with defaults and presets; the server's own settings are passed through."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from edgejoule.dictionary.responses import nearest
from edgejoule.errors import UsageError

OWN = "conf."  # conf.NAME: a setting by the server's own name, for its configuration
PRESET = "preset"


@dataclass(frozen=True)
class Option:
    """An option of a server. default: "" leaves it to the server. choices: the allowed values; empty: any."""

    meaning: str
    default: str = ""
    choices: tuple[str, ...] = ()


def effective(
    server: str,
    options: Mapping[str, Option],
    presets: Mapping[str, Mapping[str, str]],
    asked: Mapping[str, object],
) -> dict[str, str]:
    """Returns every option's value, and the settings passed through. Raises UsageError for unknown options."""
    requested = {name: option_text(value) for name, value in asked.items()}
    for name, value in requested.items():
        if name.startswith(OWN) and len(name) > len(OWN):
            continue
        if name not in options:
            raise UsageError(f"{server}.{name}: unknown option; {nearest(name, options)}")
        choices = options[name].choices
        if choices and value not in choices:
            raise UsageError(f"{server}.{name}: expected {', '.join(choices)}, got {value!r}")
    preset = presets.get(requested.get(PRESET, ""), {})
    return {name: option.default for name, option in options.items()} | dict(preset) | requested


def whole(server: str, settings: Mapping[str, str], name: str, least: int = 1) -> int:
    """Returns an option that is a whole number. Raises UsageError."""
    try:
        number = int(settings[name])
    except ValueError:
        number = least - 1
    if number < least:
        raise UsageError(f"{server}.{name}: expected a whole number from {least} on, got {settings[name]!r}")
    return number


def passed_through(settings: Mapping[str, str]) -> dict[str, str]:
    """Returns the server's own settings, by its own names."""
    return {name.removeprefix(OWN): value for name, value in settings.items() if name.startswith(OWN)}


def json_value(text: str) -> object:
    """Converts a setting to its own type: 4, true, "text"."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return value


def option_text(value: object) -> str:
    """Returns a value as a server's option."""
    return str(value).lower() if isinstance(value, bool) else str(value)
