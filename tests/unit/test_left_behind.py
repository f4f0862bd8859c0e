"""What a worker of xdist tells about what its tests have left behind."""

import gc

from tests.conftest import left_behind


class Cycle:
    """Only the collector ends it, and then it raises."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        raise ResourceWarning("never closed")


def test_what_raises_when_it_is_collected_is_told() -> None:
    gc.disable()  # or it could be collected, and told to pytest, before we look
    try:
        Cycle()
        found = left_behind()
    finally:
        gc.enable()
    assert len(found) == 1
    assert "never closed" in found[0]
