"""Where the cards of running turns are, and of no others."""

from channels.ids import CardId, MessageId, TurnId
from channels.service.card_book import CardBook, CardPlace
from channels.service.signals import Signal

TURN = TurnId("turn_1")
ENTITY, SHOWN = CardPlace(CardId("7"), None), CardPlace(None, MessageId("om_1"))


async def test_an_open_turn_learns_of_its_cards_and_is_rung() -> None:
    book, signal = CardBook(), Signal()
    book.open(TURN, signal)
    book.put(TURN, 0, ENTITY)
    assert await signal.wait(0)
    book.put(TURN, 0, SHOWN)
    assert book.get(TURN, 0) == CardPlace(CardId("7"), MessageId("om_1"))


def test_nothing_is_kept_of_a_turn_that_has_ended() -> None:
    """Its cards may still be on their way: an answer that was quicker than its card would be kept for ever."""
    book = CardBook()
    book.open(TURN, Signal())
    book.put(TURN, 0, ENTITY)
    book.close(TURN)
    book.put(TURN, 0, ENTITY)
    book.put(TURN, 1, ENTITY)
    assert (book.get(TURN, 0), book.get(TURN, 1)) == (None, None)
