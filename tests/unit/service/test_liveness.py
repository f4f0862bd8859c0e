"""Since when nobody can be sure that events reached us."""

import pytest

from channels.clock import FlooredClock
from channels.feishu.connection import ConnectionHealth, ConnectionState
from channels.service.liveness import Liveness


class HandClock:
    """Wall and monotonic time that go on together."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def wall_ms(self) -> int:
        return int(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds


class Scene:
    """A connection whose health the test writes."""

    def __init__(self, last_alive_ms: int | None = None) -> None:
        self.clock, self.health = HandClock(), ConnectionHealth()
        self.liveness = Liveness(FlooredClock(self.clock), lambda: self.health, last_alive_ms)

    def connect(self) -> None:
        self.health.connections += 1
        self._set(ConnectionState.CONNECTED)

    def lose(self) -> None:
        self._set(ConnectionState.WAITING)

    def hear(self) -> None:
        self.health.last_pong_at = self.clock.seconds

    def cover(self) -> None:
        uncovered = self.liveness.uncovered()
        assert uncovered is not None
        self.liveness.cover(uncovered)

    def _set(self, state: ConnectionState) -> None:
        self.health.state = state
        self.liveness.note(self.health)


@pytest.fixture
def scene() -> Scene:
    return Scene(last_alive_ms=500_000)


def test_before_the_gap_is_committed_nothing_moves(scene: Scene) -> None:
    """Killed between the connection and the gap, the next boot reads from where the last one ended."""
    scene.connect()
    scene.hear()
    assert scene.liveness.alive_ms() == 500_000
    uncovered = scene.liveness.uncovered()
    assert uncovered is not None
    assert (uncovered.since_ms, uncovered.reason) == (500_000, "boot")


def test_covered_it_is_alive_as_long_as_something_is_heard(scene: Scene) -> None:
    scene.connect()
    scene.cover()
    assert scene.liveness.alive_ms() == 1_000_000
    scene.clock.seconds += 100
    assert scene.liveness.alive_ms() == 1_000_000  # a socket that stands is not enough
    scene.hear()
    scene.clock.seconds += 7
    assert scene.liveness.alive_ms() == 1_100_000
    assert scene.liveness.uncovered() is None


def test_the_cut_is_the_last_thing_heard(scene: Scene) -> None:
    scene.connect()
    scene.cover()
    scene.clock.seconds += 10
    scene.hear()
    scene.clock.seconds += 250  # the watchdog needs its time
    scene.lose()
    assert scene.liveness.alive_ms() == 1_010_000
    assert scene.liveness.uncovered() is None  # nothing can be read while nobody listens
    scene.connect()
    uncovered = scene.liveness.uncovered()
    assert uncovered is not None
    assert (uncovered.since_ms, uncovered.reason) == (1_010_000, "reconnect")


def test_a_second_cut_before_the_gap_keeps_the_first_moment(scene: Scene) -> None:
    scene.connect()
    scene.cover()
    scene.clock.seconds += 10
    scene.lose()
    scene.clock.seconds += 10
    scene.connect()
    scene.hear()
    scene.lose()
    scene.clock.seconds += 10
    scene.connect()
    uncovered = scene.liveness.uncovered()
    assert uncovered is not None
    assert uncovered.since_ms == 1_000_000


def test_a_gap_that_was_committed_for_a_connection_that_is_gone_covers_nothing(scene: Scene) -> None:
    scene.connect()
    done = scene.liveness.uncovered()
    assert done is not None
    scene.lose()
    scene.connect()
    scene.liveness.cover(done)
    assert not scene.liveness.is_covered
    assert scene.liveness.alive_ms() == 500_000


def test_something_heard_on_an_earlier_connection_is_no_life_of_this_one(scene: Scene) -> None:
    scene.connect()
    scene.cover()
    scene.hear()
    scene.lose()
    scene.clock.seconds += 60
    scene.connect()
    scene.cover()
    assert scene.liveness.alive_ms() == 1_060_000  # the handshake
    scene.clock.seconds += 5
    assert scene.liveness.alive_ms() == 1_060_000


def test_nobody_was_ever_listening() -> None:
    scene = Scene()
    assert scene.liveness.alive_ms() is None
    scene.connect()
    uncovered = scene.liveness.uncovered()
    assert uncovered is not None
    assert uncovered.since_ms is None
    scene.cover()
    assert scene.liveness.alive_ms() == 1_000_000
