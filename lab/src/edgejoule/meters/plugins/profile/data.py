"""Board profiles as data files: what a board draws at which CPU utilisation, and who says so.

A profile is TOML, checked on reading: unknown keys, a table that does not rise, a figure without a source are refused
with file and key. `boards/` has those that come with the package; a path names one of your own.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from edgejoule.meters import toml_profile
from edgejoule.meters.base import Domain
from edgejoule.meters.toml_profile import Positive, Strict, Text

BOARDS = Path(__file__).parent / "boards"

Share = Annotated[float, Field(ge=0, le=1)]


class FigureSource(Strict):
    """The source of a figure. nominal: a vendor's figure that nobody here has seen measured."""

    title: Text
    where: Text
    measured: Text
    nominal: bool = False


class CpuPoint(Strict):
    """Power at one utilisation. utilisation: busy share of all CPUs. derivation: from the source's statement to W."""

    utilisation: Share
    power_w: Positive
    source: Text
    derivation: Text


class Traffic(Strict):
    """Energy per byte moved, on top of the CPU table."""

    read_j_per_byte: Annotated[float, Field(ge=0)]
    write_j_per_byte: Annotated[float, Field(ge=0)]
    source: Text
    derivation: Text


class Profile(Strict):
    """One board. See README.md for the meaning of each key.

    domain: what the power covers; `board` unless a calibration's meter saw another part.
    scale: `board`, power of the whole board; `per_cpu`, power per logical CPU, multiplied by their number.
    prediction_interval_rel: half width at k=2, relative to the modelled energy.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    board: Text
    device_tree_models: tuple[Text, ...] = ()
    machines: tuple[Text, ...] = ()
    domain: Domain = Domain.BOARD
    scale: Literal["board", "per_cpu"] = "board"
    valid: Text
    prediction_interval_rel: Annotated[float, Field(gt=0, le=2)]
    prediction_interval_reason: Text
    not_modelled: Text
    cpu: Annotated[tuple[CpuPoint, ...], Field(min_length=2)]
    storage: Traffic | None = None
    network: Traffic | None = None
    sources: Annotated[dict[str, FigureSource], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        use = [point.utilisation for point in self.cpu]
        power = [point.power_w for point in self.cpu]
        if use[0] != 0 or use[-1] != 1 or any(a >= b for a, b in pairwise(use)):
            raise ValueError(f"cpu: utilisation must rise strictly from 0 to 1, got {use}")
        if any(a > b for a, b in pairwise(power)):
            raise ValueError(f"cpu: power_w must not fall as utilisation rises, got {power}")
        for figure in (*self.cpu, self.storage, self.network):
            if figure is not None and figure.source not in self.sources:
                raise ValueError(f"source {figure.source!r} is not among the sources ({', '.join(self.sources)})")
        return self

    @property
    def nominal(self) -> bool:
        """Whether any figure of the CPU table is a vendor's nominal one."""
        return any(self.sources[point.source].nominal for point in self.cpu)

    def power_w(self, utilisation: float, cpus: int) -> float:
        """Power at a utilisation of all CPUs (0 to 1, clipped), linear between the table's points."""
        return self._interpolated(utilisation) * (cpus if self.scale == "per_cpu" else 1)

    def _interpolated(self, utilisation: float) -> float:
        """As np.interp, which takes ten times as long for one number."""
        place = bisect_right(self.cpu, utilisation, key=lambda point: point.utilisation)
        if place == 0:
            return self.cpu[0].power_w
        if place == len(self.cpu):
            return self.cpu[-1].power_w
        low, high = self.cpu[place - 1], self.cpu[place]
        slope = (high.power_w - low.power_w) / (high.utilisation - low.utilisation)
        return slope * (utilisation - low.utilisation) + low.power_w


def load_profile(path: Path) -> Profile:
    """Read one profile. Raises UsageError naming file, key and what was expected."""
    return toml_profile.load_profile(path, Profile)


def all_profiles() -> list[Profile]:
    """The profiles that come with the package, by name."""
    return [load_profile(path) for path in sorted(BOARDS.glob("*.toml"))]


def named_profile(name_or_path: str | Path) -> Profile:
    """A profile by name or, when it names a file (`.toml`), by path. Raises UsageError."""
    return toml_profile.named_profile(str(name_or_path), BOARDS, Profile)


def detected_profile(device_tree_model: str | None, machine: str) -> Profile | None:
    """The profile for a device tree's model, else the generic one of a machine type (`x86_64`); None when none fits.

    The longest matching beginning wins: a 3 Model B Plus is not a 3 Model B.
    """
    profiles = all_profiles()
    fits = [
        (len(start), profile)
        for profile in profiles
        for start in profile.device_tree_models
        if device_tree_model is not None and device_tree_model.startswith(start)
    ]
    if fits:
        return max(fits, key=lambda fit: fit[0])[1]
    return next((profile for profile in profiles if machine in profile.machines), None)
