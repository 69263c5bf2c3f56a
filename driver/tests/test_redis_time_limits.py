"""Time limits of the Redis adapter, on an emulated server with configurable delays."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from driving import drive, events_of, returns_of

ROW = b"*2\r\n$6\r\nfield0\r\n$10\r\n0123456789\r\n"
ANSWERS = {
    b"PING": b"+PONG\r\n",
    b"INFO": b"$20\r\nredis_version:7.0.15\r\n",
    b"DBSIZE": b":100\r\n",
    b"ZCARD": b":99\r\n",
    b"HGETALL": ROW,
}


class SlowRedis:
    """A server on a free port.

    trickled: commands whose answer comes byte by byte. silent: commands without an answer. greetings: number of
    connections that get answers; None: all. stops_at: after this command no command gets an answer.
    """

    def __init__(
        self,
        trickled: frozenset[bytes] = frozenset(),
        silent: frozenset[bytes] = frozenset(),
        greetings: int | None = None,
        stops_at: bytes | None = None,
    ) -> None:
        self._stops_at = stops_at
        self._stopped = False
        self._trickled = trickled
        self._silent = silent
        self._greetings = greetings
        self._connections = 0
        self._kept: list[socket.socket] = []  # connections without an answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections += 1
            if self._greetings is not None and self._connections > self._greetings:
                self._kept.append(connection)
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as commands:
            try:
                while line := commands.readline():
                    command = [commands.read(int(commands.readline()[1:]) + 2)[:-2] for _ in range(int(line[1:]))]
                    self._answer(connection, command[0])
            except OSError:
                return

    def _answer(self, connection: socket.socket, command: bytes) -> None:
        self._stopped = self._stopped or command == self._stops_at
        if self._stopped or command in self._silent:
            return
        answer = ANSWERS.get(command, b"*0\r\n")
        if command not in self._trickled:
            connection.sendall(answer)
            return
        for byte in answer:
            connection.sendall(bytes([byte]))
            time.sleep(0.1)


@pytest.fixture
def trickling() -> Iterator[SlowRedis]:
    server = SlowRedis(trickled=frozenset([b"HGETALL"]))
    yield server
    server.close()


READS = ["-db", "redis", "-P", "workloadc", "-p", "recordcount=100", "-p", "operationcount=1", "--quiet"]


def test_an_answer_that_comes_byte_by_byte_is_too_late_when_the_operations_time_is_over(trickling: SlowRedis) -> None:
    # The answer takes 3.5 s with pauses of at most 0.1 s.
    begin = time.monotonic()
    limits = ["-p", f"redis.port={trickling.port}", "-p", "redis.timeout_ms=500", "-p", "redis.reconnect_ms=0"]
    done = drive("run", *READS, *limits)
    assert done.returncode != 0
    assert "no answer within 500 ms (redis.timeout_ms)" in done.stderr
    assert time.monotonic() - begin < 3


@pytest.mark.slow
def test_an_answer_within_the_operations_time_is_taken_also_byte_by_byte(trickling: SlowRedis) -> None:
    limits = ["-p", f"redis.port={trickling.port}", "-p", "redis.timeout_ms=20000"]
    done = drive("run", *READS, *limits, "-json", "-")
    assert done.returncode == 0, done.stderr
    assert returns_of(events_of(done.stdout)[-1]) == {"READ": {"OK": 1}}


def test_a_server_that_does_not_greet_is_reported_by_the_option_of_connections() -> None:
    server = SlowRedis(silent=frozenset([b"PING"]))
    done = drive("run", *READS, "-p", f"redis.port={server.port}", "-p", "redis.connect_timeout_ms=300")
    server.close()
    assert "no answer within 300 ms (redis.connect_timeout_ms)" in done.stderr


def test_the_last_attempt_to_connect_ends_with_the_wait_for_a_lost_server() -> None:
    """One attempt may take 5 s (redis.connect_timeout_ms), the wait for the server 0.5 s (redis.reconnect_ms)."""
    server = SlowRedis(silent=frozenset([b"HGETALL"]), greetings=2)  # the control connection's and the session's
    limits = ["-p", "redis.timeout_ms=300", "-p", "redis.reconnect_ms=500"]
    begin = time.monotonic()
    done = drive("run", *READS, "-p", f"redis.port={server.port}", *limits)
    server.close()
    assert "not back within 500 ms" in done.stderr
    assert "it no longer answers" in done.stderr
    assert "does it listen" not in done.stderr
    assert time.monotonic() - begin < 3


def test_a_server_that_stopped_answering_is_asked_nothing_for_long_after_the_operations() -> None:
    """The driver reads the server's CPU time and its background work; each attempt to connect may take 5 s."""
    server = SlowRedis(stops_at=b"HGETALL")
    limits = ["-p", "redis.timeout_ms=300", "-p", "redis.reconnect_ms=500"]
    begin = time.monotonic()
    done = drive("run", *READS, "-p", f"redis.port={server.port}", *limits)
    server.close()
    assert "it no longer answers" in done.stderr
    assert time.monotonic() - begin < 4


@pytest.mark.slow
def test_a_short_time_limit_alone_is_taken(trickling: SlowRedis) -> None:
    done = drive("load", *READS, "-p", f"redis.port={trickling.port}", "-p", "redis.timeout_ms=1000")
    assert "wait_timeout_ms" not in done.stderr


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("redis.wait_replicas=1", "redis.wait_timeout_ms (default 1000) must be below redis.timeout_ms (1000)"),
        ("redis.wait_timeout_ms=2000", "redis.wait_timeout_ms (2000) must be below redis.timeout_ms (1000)"),
    ],
)
def test_a_wait_for_replicas_that_outlasts_the_operation_is_refused(option: str, message: str) -> None:
    done = drive("run", *READS, "-p", "redis.timeout_ms=1000", "-p", option)
    assert done.returncode == 2
    assert f"edgejoule-driver: {message}; raise redis.timeout_ms or set both" in done.stderr
