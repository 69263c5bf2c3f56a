"""The workload of a run, as properties that all YCSB drivers know."""

from dataclasses import dataclass

LOAD = "load"
PROPORTIONS = {"C": {"read": 1.0, "update": 0.0}, "A": {"read": 0.5, "update": 0.5}}
WORKLOADS = ("C", "A", LOAD)


@dataclass(frozen=True)
class Work:
    """One run of a driver."""

    workload: str  # of WORKLOADS
    records: int  # in the database; a load makes `operations` of them
    operations: int
    threads: int = 1
    target_ops_s: int | None = None

    @property
    def is_load(self) -> bool:
        """True if it fills the database."""
        return self.workload == LOAD

    def properties(self) -> dict[str, str]:
        """YCSB's properties. YCSB's defaults (10 fields of 100 bytes) are explicit if the peers' defaults differ."""
        properties = {
            "recordcount": str(self.operations if self.is_load else self.records),
            "operationcount": str(self.operations),
            "requestdistribution": "zipfian",
            "fieldcount": "10",
            "fieldlength": "100",
            "readallfields": "true",
            "writeallfields": "false",
        }
        for operation, share in PROPORTIONS.get(self.workload, {}).items():
            properties[f"{operation}proportion"] = str(share)
        return properties


def assignments(properties: dict[str, str]) -> list[str]:
    """The properties as -p options."""
    return [word for name, value in properties.items() for word in ("-p", f"{name}={value}")]
