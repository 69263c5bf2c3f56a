import signal

import pytest
from driving import DRIVER


@pytest.fixture(autouse=True, scope="session")
def _the_driver_is_built() -> None:
    assert DRIVER.exists(), f"{DRIVER} is not built: run `make build`, or name another with EDGEJOULE_DRIVER"


@pytest.fixture(autouse=True, scope="session")
def _programs_begin_with_the_usual_signals() -> None:
    """Under nohup or in the background of a script they would inherit that some are ignored, and obey."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
