import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import DRIVER, NOBODY, REPOSITORY, TESTER, Caller


@pytest.fixture(autouse=True, scope="session")
def _the_driver_is_built() -> None:
    assert DRIVER.exists(), f"{DRIVER} is not built: run `make build`, or name another with EDGEJOULE_DRIVER"


@pytest.fixture(autouse=True, scope="session")
def _programs_begin_with_the_usual_signals() -> None:
    """Restores default signal actions: under nohup or in a script's background, the programs would inherit ignored
    signals.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def unprivileged() -> Iterator[Caller]:
    """Returns a caller who is not root: the user of the tests, or nobody if that user is root.

    nobody starts a copy of the driver, because the checkout may be in a folder that only root can enter (/root).
    """
    if os.geteuid() != 0:
        yield TESTER
        return
    with tempfile.TemporaryDirectory(prefix="edgejoule-driver-", dir="/var/tmp") as folder:
        installed = Path(folder)
        installed.chmod(0o755)
        (installed / "bin").mkdir()
        shutil.copy(DRIVER, installed / "bin")
        shutil.copytree(DRIVER.parent.parent / "lib" / "edgejoule", installed / "lib" / "edgejoule")
        shutil.copytree(REPOSITORY / "driver" / "workloads", installed / "share" / "edgejoule" / "workloads")
        yield Caller(installed / "bin" / DRIVER.name, NOBODY)
