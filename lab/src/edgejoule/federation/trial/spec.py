"""What is compared: a TOML file. Unknown keys are refused, with the file and the key."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from edgejoule import toml_text
from edgejoule.errors import SpecError
from edgejoule.federation.server import Server

SHARE_MOST, SHARES_MOST = 0.4, 1.4

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,15}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Link(_Strict):
    """The network of all servers in a part of the rounds."""

    name: Name
    rate_mbit_s: float | None = Field(default=None, gt=0, description="of each server's link; not shaped when left out")
    delay_ms: float = Field(default=0, ge=0, le=1000, description="that each direction adds")
    encrypted: bool = Field(default=True, description="mutual TLS; without it, as the paper did")


class Database(_Strict):
    """Options of every database, and of what is written into it."""

    keys: int = Field(default=500_000, ge=1, description="that are drawn from")
    value_bytes: list[int] = Field(default=[1000], min_length=1, description="in turn, a round each")
    compression: str = "snappy"
    write_buffer_kb: int = Field(default=1024, ge=64)
    level0_trigger: int = Field(default=4, ge=1)
    level0_slowdown: int = Field(default=20, ge=2)
    level0_stop: int = Field(default=20, ge=2)
    background_jobs: int = Field(default=2, ge=1)
    options: list[str] = Field(default=[], description="further words for db_bench")


class Place(_Strict):
    """A server."""

    name: Name
    tier: str = Field(description="of the file of tiers: its watts")
    share: float = Field(gt=0, le=SHARE_MOST, description="of a core of this machine, by a quota")
    loaded: bool = Field(default=True, description="a database is written on it")
    asks: bool = Field(default=True, description="where to compact; else it is RocksDB alone")
    writes_mb_s: float = Field(default=0, ge=0, description="offered to its database; 0: as much as it takes")


class Trial(_Strict):
    """Rounds of `duration_s` on each link, each of one policy."""

    name: Name
    question: str
    tiers: str = Field(description="the file of tiers, relative to this one")
    policies: list[str] = Field(min_length=1, description="the first is compared with")
    rounds: int = Field(ge=1, le=100, description="of each policy, link and size of values")
    duration_s: int = Field(ge=2, le=600)
    learn: list[str] = Field(default=[], description="policies of rounds before the first: the models learn")
    learn_s: int = Field(default=10, ge=2, le=600)
    seed: int = Field(default=1, ge=0)
    links: list[Link] = Field(min_length=1)
    database: Database = Database()
    servers: list[Place] = Field(min_length=2)

    @model_validator(mode="after")
    def _shares_fit(self) -> Trial:
        shares = sum(server.share for server in self.servers)
        if shares > SHARES_MOST + 1e-9:
            raise ValueError(f"the shares of all servers are {shares:g} cores, more than {SHARES_MOST:g}")
        return self

    def seconds(self) -> float:
        """That the rounds write, without starts and pauses."""
        sizes = len(self.database.value_bytes)
        a_link = len(self.learn) * self.learn_s + self.rounds * len(self.policies) * self.duration_s
        return len(self.links) * sizes * a_link


def read_trial(file: Path) -> Trial:
    """Raises SpecError."""
    try:
        return Trial.model_validate(toml_text.loads(file.read_text()))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SpecError(file, None, None, str(error)) from error
    except ValidationError as error:
        first = error.errors()[0]
        raise SpecError(file, None, ".".join(map(str, first["loc"])) or None, first["msg"]) from error


def servers_of(trial: Trial, file: Path, link: Link) -> list[Server]:
    """With the watts of their tiers, which are of one core. file: the trial's. Raises SpecError."""
    path = file.parent / trial.tiers
    try:
        tiers = toml_text.loads(path.read_text())["tiers"]
        return [
            Server(
                name=place.name,
                share=place.share,
                busy_w=float(tiers[place.tier]["busy_core_w"]),
                idle_w=float(tiers[place.tier]["idle_w"]),
                link_mbit_s=link.rate_mbit_s or 10_000,
                transfer_j_per_byte=float(tiers[place.tier]["transfer_nj_per_byte"]) * 1e-9,
            )
            for place in trial.servers
        ]
    except KeyError as error:
        raise SpecError(path, None, str(error), "is missing") from error
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SpecError(path, None, None, str(error)) from error
