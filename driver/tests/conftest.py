import pytest
from driving import DRIVER


@pytest.fixture(autouse=True, scope="session")
def _the_driver_is_built() -> None:
    assert DRIVER.exists(), f"{DRIVER} is not built: run `make build`, or name another with EDGEJOULE_DRIVER"
