"""What a driver is asked to do, in properties that all YCSB drivers know."""

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
        """Whether it fills the database."""
        return self.workload == LOAD

    def properties(self) -> dict[str, str]:
        """YCSB's own, with the defaults of YCSB (10 fields of 100 bytes) said aloud where the peers' differ."""
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
    """As -p options."""
    return [word for name, value in properties.items() for word in ("-p", f"{name}={value}")]
