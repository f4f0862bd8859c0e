"""Who gets a process, and when. Hosts here have no process: the test says when one is gone."""

import asyncio
from contextlib import aclosing

from hypothesis import given, settings
from hypothesis import strategies as st

from channels.agents.acp.host import Host
from channels.agents.acp.pool import Claim, Pool, Seat
from channels.agents.presets import AcpPreset

PRESET = AcpPreset("fake", ("true",))


def host_in(seat: Seat) -> Host:
    seat.host = Host(PRESET)
    return seat.host


def gone(pool: Pool, seat: Seat) -> None:
    host = seat.host
    assert host is not None
    host.is_gone = True
    pool.left(seat, host)


def seated(claim: Claim) -> Seat:
    assert claim.seat is not None
    return claim.seat


async def test_a_session_goes_on_in_its_own_seat() -> None:
    pool = Pool(2, 0)
    first = pool.claim("a", "ada")
    host = host_in(seated(first))
    pool.release(first)
    again = pool.claim("a", "ada")
    assert seated(again).host is host


async def test_an_idle_process_makes_room_before_anybody_waits_for_long() -> None:
    pool = Pool(1, 0)
    first = pool.claim("a", "ada")
    seat = seated(first)
    host = host_in(seat)
    pool.release(first)
    second = pool.claim("b", "bob")
    assert second.seat is None
    assert host.doomed is not None  # it is being ended for this
    gone(pool, seat)
    assert seated(second).key == "b"


async def test_the_longest_idle_goes_first_and_no_more_than_needed() -> None:
    pool = Pool(3, 0)
    claims = [pool.claim(key, "ada") for key in "abc"]
    hosts = [host_in(seated(claim)) for claim in claims]
    for claim in reversed(claims):
        pool.release(claim)
        await asyncio.sleep(0.001)  # the loop's clock must move between them
    pool.claim("d", "bob")
    assert [host.doomed is not None for host in hosts] == [False, False, True]
    pool.claim("d", "bob")
    assert [host.doomed is not None for host in hosts] == [False, False, True]


async def test_a_session_whose_process_is_being_ended_waits_for_the_next() -> None:
    pool = Pool(1, 0)
    first = pool.claim("a", "ada")
    seat = seated(first)
    host_in(seat)
    pool.release(first)
    other, again = pool.claim("b", "bob"), pool.claim("a", "ada")
    assert other.seat is None
    assert again.seat is None
    gone(pool, seat)
    assert seated(other).key == "b"
    pool.release(other)
    assert seated(again) is not seat


async def test_they_are_served_in_turn_and_nobody_with_many_keeps_out_one_with_one() -> None:
    pool = Pool(1, 0)
    running = pool.claim("x", "ada")
    ada = [pool.claim(f"a{number}", "ada") for number in range(3)]
    bob, eve = pool.claim("b", "bob"), pool.claim("e", "eve")
    served = []
    for _ in range(5):
        pool.release(running)
        running = next(claim for claim in (*ada, bob, eve) if claim.seat is not None)
        served.append(running.key)
    assert served == ["b", "e", "a0", "a1", "a2"]


async def test_one_who_waits_hears_how_many_are_before() -> None:
    pool = Pool(1, 0)
    running = pool.claim("x", "ada")
    first, second = pool.claim("a", "bob"), pool.claim("b", "eve")
    heard = []
    async with asyncio.timeout(5), aclosing(pool.until_seated(second)) as places:
        heard.append(await anext(places))
        pool.release(running)
        heard.append(await anext(places))
        pool.release(first)
        heard += [ahead async for ahead in places]
    assert heard == [2, 1, 0]
    assert seated(second).key == "b"


async def test_one_who_need_not_wait_hears_nothing() -> None:
    pool = Pool(1, 0)
    claim = pool.claim("a", "ada")
    assert [ahead async for ahead in pool.until_seated(claim)] == []


async def test_one_who_goes_away_is_out_of_the_line() -> None:
    pool = Pool(1, 0)
    running, first, second = pool.claim("x", "a"), pool.claim("a", "b"), pool.claim("b", "c")
    pool.release(first)
    pool.release(running)
    assert first.seat is None
    assert seated(second).key == "b"
    assert pool.waiting == 0


async def test_a_retired_seat_is_left_by_its_last_turn() -> None:
    pool = Pool(1, 0)
    first, second = pool.claim("", "ada"), pool.claim("", "bob")
    seat = seated(first)
    host = host_in(seat)
    pool.retire(seat)
    fresh = pool.claim("", "eve")
    assert seated(fresh) is not seat
    pool.release(first)
    assert host.doomed is None
    pool.release(second)
    assert host.doomed is not None
    gone(pool, seat)
    assert pool.seats == (seated(fresh),)


async def test_an_idle_process_is_ended_after_its_time() -> None:
    pool = Pool(1, 0.01)
    claim = pool.claim("a", "ada")
    host = host_in(seated(claim))
    pool.release(claim)
    async with asyncio.timeout(5):
        while host.doomed is None:  # noqa: ASYNC110 - what is waited for is a timer of the loop itself
            await asyncio.sleep(0.005)


steps = st.lists(
    st.tuples(st.sampled_from(["claim", "release", "give up waiting", "gone"]), st.integers(0, 7), st.integers(0, 2)),
    max_size=80,
)


@given(steps, st.integers(1, 3))
@settings(deadline=None, max_examples=150)
def test_never_more_seats_than_allowed_and_everybody_is_served(steps: list[tuple[str, int, int]], most: int) -> None:
    asyncio.run(_play(steps, most))


async def _play(steps: list[tuple[str, int, int]], most: int) -> None:
    pool, claims = Pool(most, 0), list[Claim]()

    def settle() -> None:
        for claim in claims:
            if claim.seat is not None and claim.seat.host is None:
                host_in(claim.seat)

    def end_the_doomed() -> bool:
        doomed = [seat for seat in pool.seats if seat.host is not None and seat.host.doomed is not None]
        for seat in doomed:
            gone(pool, seat)
        settle()
        return bool(doomed)

    for what, key, person in steps:
        seated_now = [claim for claim in claims if claim.seat is not None]
        waiting = [claim for claim in claims if claim.seat is None]
        if what == "claim":
            claims.append(pool.claim(str(key), str(person)))
        elif what == "gone" and pool.seats:
            seat = pool.seats[key % len(pool.seats)]
            if seat.host is not None:
                gone(pool, seat)
        elif (chosen := seated_now if what == "release" else waiting) and what != "gone":
            claim = chosen[key % len(chosen)]
            claims.remove(claim)
            pool.release(claim)
        settle()
        assert len(pool.seats) <= most
        assert len({seat.key for seat in pool.seats}) == len(pool.seats)
        without = {claim.key for claim in claims if claim.seat is None} - {seat.key for seat in pool.seats}
        ending = sum(seat.ending for seat in pool.seats)
        assert len(without) <= ending or not any(seat.is_idle for seat in pool.seats)
    for _ in range(200):
        end_the_doomed()
        for claim in [one for one in claims if one.seat is not None][:1]:
            claims.remove(claim)
            pool.release(claim)
    assert claims == []
    assert pool.waiting == 0
