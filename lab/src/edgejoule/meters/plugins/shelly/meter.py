"""The meter over a Shelly, of any generation: which it is, it says itself at /shelly.

Power is the device's active power. A value that the device marks as not valid is a missing sample.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from edgejoule.errors import UsageError
from edgejoule.meters.plugins.shelly.protocol import PLACES, ValuePlace, components
from edgejoule.meters.transport.http import FetchText, fetcher, json_object, number_at
from edgejoule.meters.transport.plug import PlugMeter

ACCURACY_REL, OFFSET_LIMIT_W = 0.02, 0.3  # assumed: see README.md


class Shelly(PlugMeter):
    """See PlugMeter. component: KIND:ID as in `switch:0`, by default the first that measures. password: of a device of
    the first generation, user: its name there.
    """

    name = "shelly"

    def __init__(
        self,
        host: str | None = None,
        component: str | None = None,
        user: str | None = None,
        password: str | None = None,
        quantity: str = "power",
        accuracy_rel: float = ACCURACY_REL,
        offset_limit_w: float = OFFSET_LIMIT_W,
        update_s: float = 60.0,
        fetch: FetchText | None = None,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        transport = fetch or fetcher(user, password)
        super().__init__(host, quantity, accuracy_rel, offset_limit_w, update_s, transport, clock_ns)
        self._component = None if component is None else _checked_component(component)
        self._place: tuple[str, ValuePlace] | None = None

    def describe(self) -> str:
        """Returns the description of quantity and accuracy."""
        return f"active power at the wall by a Shelly (±{self.accuracy_k2:.1%} assumed)"

    def identify(self) -> str:
        """The device's own name, and the component that is read."""
        device = json_object(self._fetch(f"http://{self.host}/shelly"))
        kinds = components(device)
        self._place = self._locate(kinds)
        label = device.get("app") or device.get("model") or device.get("type")
        return f"Shelly {label}, {self._place[0]},"

    def read(self) -> tuple[float, float]:
        """Power in W or the total in J."""
        if self._place is None:
            self.identify()
        assert self._place is not None, "identified"
        return self._read_at(*self._place)

    def _locate(self, kinds: tuple[str, ...]) -> tuple[str, ValuePlace]:
        if self._component is not None:
            kind, number = self._component
            if kind not in kinds:
                raise ValueError(f"this generation has no component {kind}, only {', '.join(kinds)}")
            return self._placed(kind, number)
        refused = []
        for kind in kinds:
            try:
                place = self._placed(kind, 0)
                self._read_at(*place)
            except (OSError, ValueError) as error:
                refused.append(f"{kind}:0 ({error})")
                continue
            return place
        raise ValueError(f"no component measures: {', '.join(refused)}")

    def _placed(self, kind: str, number: int) -> tuple[str, ValuePlace]:
        place = PLACES[kind][self.quantity]
        return f"{kind}:{number}", ValuePlace(place.path.format(id=number), place.keys, place.scale)

    def _read_at(self, _: str, place: ValuePlace) -> tuple[float, float]:
        result = json_object(self._fetch(f"http://{self.host}{place.path}"))
        if result.get("is_valid") is False:
            raise ValueError("the device says that its reading is not valid")
        if errors := result.get("errors"):
            raise ValueError(f"the device reports errors: {errors}")
        value, step = number_at(result, *place.keys)
        return value * place.scale, step * place.scale


def _checked_component(text: str) -> tuple[str, int]:
    kind, _, number = str(text).partition(":")
    if kind not in PLACES or not number.isdecimal():
        raise UsageError(f"shelly: component: expected KIND:ID with one of {', '.join(PLACES)}, got {text!r}")
    return kind, int(number)
