"""Measures of answers: what is visible first, when the whole text is there, what it costs in calls, and crowds."""

from collections.abc import Iterator
from typing import Any

from tests.bench.contestants import Ring, say
from tests.bench.figures import Figure, middle
from tests.bench.processes import Stage, model, model_alone_ms
from tests.bench.sizes import Sizes
from tests.bench.texts import LAST_WORDS, demo_text, model_text, question

MOST_CALLS = {800: 8, 2_000: 12}
WHOLE_MS = 30  # what may pass between the model's last word and the whole text on the card


def measure_first_signs(ring: Ring, sizes: Sizes) -> Iterator[Figure]:
    """Event → ack, first request, first thing visible (Typing or the card), one question at a time."""
    say(f"{sizes.questions} questions, one at a time")
    with ring.service():
        asked = [_ask(ring.ours, 40, 40) for _ in range(sizes.questions + 1)][1:]  # the first one opens connections
    yield Figure("event to ack, with a question", "ms", middle(each["ack_ms"] for each in asked))
    yield Figure("event to our first request", "ms", middle(each["first_request_ms"] for each in asked))
    after = tuple(each["first_visible_ms"] - each["ack_ms"] for each in asked)
    yield Figure("event to first thing visible", "ms", middle(each["first_visible_ms"] for each in asked))
    yield Figure("commit (ack) to first thing visible", "ms", middle(after), target=10, samples=after)


def measure_streamed_answers(ring: Ring, sizes: Sizes) -> Iterator[Figure]:
    """The whole text and the calls of streamed answers, beside the official SDK's streaming helper."""
    for characters in sizes.characters:
        duration_ms = sizes.model_ms * characters // min(sizes.characters)
        say(f"answers of {characters} characters in {duration_ms} ms")
        ours: list[dict[str, Any]] = []
        theirs: list[dict[str, Any]] = []
        with ring.service(), ring.official("official_stream"):
            for _ in range(sizes.rounds):
                ours.append(_ask(ring.ours, characters, duration_ms))
                theirs.append(_ask_for(ring.theirs, question(characters, duration_ms), LAST_WORDS))
        yield _whole_figure(f"whole text, demo agent, {characters} characters", ours, theirs, duration_ms)
        yield _calls_figure(characters, ours, theirs)
    yield from _model_answers(ring, sizes)


def measure_crowd(ring: Ring, sizes: Sizes) -> Iterator[Figure]:
    """So many people ask at once, the platform's limits off."""
    seconds: list[float] = []
    with ring.service(max_running=64):
        for number in range(sizes.rounds):
            say(f"{sizes.asked_at_once} questions at once, round {number + 1} of {sizes.rounds}")
            seconds.append(_crowd(ring.ours, sizes.asked_at_once, sizes.model_ms)["seconds"])
    name = f"{sizes.asked_at_once} questions at once, {sizes.model_ms} ms model: all answered"
    yield Figure(name, "s", middle(seconds), target=2, samples=tuple(seconds))


def measure_many_turns(ring: Ring, sizes: Sizes) -> Iterator[Figure]:
    """Acks while so many turns stream, and what a session costs in memory."""
    say(f"{sizes.turns_at_once} turns at once")
    ring.ours.call("history", keep=False)
    with ring.service(max_running=sizes.turns_at_once) as running:
        _crowd(ring.ours, min(20, sizes.turns_at_once), 100)
        before_kb, crowd = running.resident_kb(), _many(ring.ours, sizes)
        after_kb = running.resident_kb()
    ring.ours.call("history", keep=True)
    acks = tuple(crowd["acks_ms"])
    yield Figure(f"worst ack while {sizes.turns_at_once} turns stream", "ms", max(acks), target=1000, samples=acks)
    yield Figure("… of it between our reading the frame and writing the ack", "ms", crowd["worst_own_ms"])
    yield Figure(
        f"{sizes.turns_at_once} turns of {sizes.turn_ms / 1000:g} s at once: all answered", "s", crowd["seconds"]
    )
    yield Figure("memory per session, after its turn", "KB", (after_kb - before_kb) / sizes.turns_at_once, target=120)


def _model_answers(ring: Ring, sizes: Sizes) -> Iterator[Figure]:
    characters, duration_ms = min(sizes.characters), sizes.model_ms
    say(f"answers of {characters} characters in {duration_ms} ms from an OpenAI-compatible endpoint")
    with model(characters, duration_ms) as url, ring.service(model_url=url):
        asked, whole = "how are you", model_text("how are you", characters)
        _ask_for(ring.ours, asked, whole)  # the first one opens the connection to the model
        answers = [_ask_for(ring.ours, asked, whole) for _ in range(sizes.rounds)]
        alone_ms = middle(model_alone_ms(url, asked) for _ in range(sizes.rounds))
    yield _whole_figure(f"whole text, openai agent, {characters} characters", answers, None, round(alone_ms))
    yield Figure("the same answer read from the model alone", "ms", alone_ms)


def _whole_figure(
    name: str, ours: list[dict[str, Any]], theirs: list[dict[str, Any]] | None, duration_ms: int
) -> Figure:
    samples = tuple(float(each["whole_ms"]) for each in ours)
    beside = middle(each["whole_ms"] for each in theirs) if theirs else None
    return Figure(name, "ms", middle(samples), beside, duration_ms + WHOLE_MS, samples=samples)


def _calls_figure(characters: int, ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> Figure:
    made = tuple(float(each["calls"]) for each in ours)
    kinds = ", ".join(f"{count} {kind}" for kind, count in ours[-1]["kinds"].items())
    return Figure(
        f"API calls, answer of {characters} characters",
        "calls",
        middle(made),
        middle(each["calls"] for each in theirs),
        MOST_CALLS.get(characters),
        samples=made,
        note=kinds,
    )


def _ask(stage: Stage, characters: int, duration_ms: int) -> dict[str, Any]:
    return _ask_for(stage, question(characters, duration_ms), demo_text(characters))


def _ask_for(stage: Stage, text: str, whole: str) -> dict[str, Any]:
    return dict(stage.call("ask", text=text, whole_text=whole))


def _crowd(stage: Stage, people: int, duration_ms: int, **more: Any) -> dict[str, Any]:
    text, whole = question(200, duration_ms), demo_text(200)
    return dict(stage.call("crowd", people=people, text=text, whole_text=whole, **more))


def _many(stage: Stage, sizes: Sizes) -> dict[str, Any]:
    gap_ms = sizes.turn_ms / max(1, sizes.talk) / 2
    return _crowd(stage, sizes.turns_at_once, sizes.turn_ms, talk=sizes.talk, gap_ms=gap_ms)
