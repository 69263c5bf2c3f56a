"""The profile of an SCPI instrument: the query and the meaning of the answer's numbers. README.md explains each key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from edgejoule.meters.base import Domain, ValueKind
from edgejoule.meters.quantities import Role, check_roles, reading
from edgejoule.meters.toml_profile import Accuracy, NotNegative, Positive, Strict, Text
from edgejoule.meters.transport.serialport import PortSettings

PROFILES = Path(__file__).parent / "profiles"
_NOT_A_NUMBER = 9.9e37  # SCPI-1999, volume 1, section 7.2.1: infinity is 9.9E37, not a number 9.91E37


class Value(Strict):
    """One number of the answer (place counts from 1), or one that is given: value = raw x scale in V, A, W or J."""

    role: Role
    place: Annotated[int, Field(ge=1)] | None = None
    constant: float | None = None
    scale: float = 1.0

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.place is None) == (self.constant is None):
            raise ValueError(f"{self.role}: expected either place or constant")
        return self


class ScpiProfile(Strict):
    """One instrument. identity: a regular expression that its answer to *IDN? must match."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    instrument: Text
    source: Text
    identity: str = ""
    domain: Domain
    tcp_port: Annotated[int, Field(ge=1, le=65535)] = 5025
    baud: Annotated[int, Field(ge=300, le=4_000_000)] = 9600
    parity: Literal["none", "even", "odd"] = "none"
    stop_bits: Literal[1, 2] = 1
    setup: tuple[Text, ...] = ()
    query: Text
    separator: Text = ","
    kind: Literal[ValueKind.INSTANT, ValueKind.INTERVAL_MEAN, ValueKind.ACCUMULATOR] = ValueKind.INSTANT
    interval_s: Positive
    lag_s: NotNegative = 0.0
    resolution: NotNegative
    values: Annotated[tuple[Value, ...], Field(min_length=1)]
    accuracy: Accuracy

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_roles(value.role for value in self.values)
        if any(value.role is Role.ENERGY for value in self.values) != (self.kind is ValueKind.ACCUMULATOR):
            raise ValueError('role energy goes with kind = "accumulator"')
        if all(value.place is None for value in self.values):
            raise ValueError("values: none of them is read from the instrument")
        try:
            re.compile(self.identity)
        except re.error as error:
            raise ValueError(f"identity is no regular expression: {error}") from error
        return self

    @property
    def port(self) -> PortSettings:
        """How a serial port is set."""
        return PortSettings(self.baud, 8, self.parity, self.stop_bits)

    def reading(self, answer: str) -> float:
        """Returns W or J. Raises ValueError for an answer without it."""
        parts = [part.strip() for part in answer.split(self.separator)]
        values: dict[Role, NDArray[np.float64]] = {}
        for value in self.values:
            values[value.role] = np.array([_number(value, parts) * value.scale])
        return float(reading(values)[0])


def _number(value: Value, parts: list[str]) -> float:
    if value.constant is not None:
        return value.constant
    assert value.place is not None
    if value.place > len(parts):
        raise ValueError(f"the answer has {len(parts)} numbers, {value.role} is number {value.place}")
    text = parts[value.place - 1]
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{value.role} is no number: {text[:20]!r}") from None
    if not np.isfinite(number) or abs(number) >= _NOT_A_NUMBER:
        raise ValueError(f"{value.role}: the instrument has no value or is over its range ({text[:20]})")
    return number
