"""Reading a meter's profile: TOML, checked, unknown keys refused, errors with file and key."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from edgejoule import toml_text
from edgejoule.errors import UsageError
from edgejoule.validation_text import expectation

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1)]


class Strict(BaseModel):
    """A table of a profile: no key but those it names."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Accuracy(Strict):
    """Standard uncertainties (k=1) of a power: gain relative, offset in W. source: who says so, and how it was turned
    into k=1.
    """

    gain_rel: Annotated[float, Field(ge=0, lt=1)]
    offset_w: NotNegative
    source: Text


P = TypeVar("P", bound=Strict)


def load_profile(path: Path, model: type[P]) -> P:
    """Read one profile. Raises UsageError naming file, key and what was expected."""
    try:
        data = toml_text.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: the profile cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        known = {"missing": "is missing", "extra_forbidden": "unknown key"}
        message = known.get(first["type"]) or expectation(first)
        raise UsageError(f"{path}: {f'{key}: ' if key else ''}{message}") from error


def named_profile(name: str, folder: Path, model: type[P]) -> P:
    """A profile by name from folder, or by path when it ends in .toml. Raises UsageError."""
    if name.endswith(".toml"):
        return load_profile(Path(name), model)
    known = profile_names(folder)
    if name not in known:
        raise UsageError(f"no profile is called {name!r}; known: {', '.join(known)}, or a .toml file")
    return load_profile(folder / f"{name}.toml", model)


def profile_names(folder: Path) -> list[str]:
    """The profiles that come with the package."""
    return sorted(path.stem for path in folder.glob("*.toml"))
