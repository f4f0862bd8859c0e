"""Where the cards of running turns are, as delivery learns it. A hint: inflight_cards has the same."""

from dataclasses import dataclass

from channels.ids import CardId, MessageId, TurnId
from channels.service.signals import Signal


@dataclass(frozen=True, slots=True)
class CardPlace:
    """A card that can be updated: by its entity, or (patch lane) by its message."""

    card_id: CardId | None
    message_id: MessageId | None


class CardBook:
    """Delivery writes, the live lanes of running turns read."""

    def __init__(self) -> None:
        self._places: dict[tuple[TurnId, int], CardPlace] = {}
        self._signals: dict[TurnId, Signal] = {}

    def open(self, turn_id: TurnId, signal: Signal) -> None:
        """From now on `signal` rings when a card of this turn can be updated."""
        self._signals[turn_id] = signal

    def close(self, turn_id: TurnId) -> None:
        """The turn is over: forget its cards."""
        self._signals.pop(turn_id, None)
        for key in [key for key in self._places if key[0] == turn_id]:
            del self._places[key]

    def put(self, turn_id: TurnId, segment: int, place: CardPlace) -> None:
        """A card exists. An entity counts at once, an inline card once its message is there.

        Of a turn that is not open nothing is kept: one that has ended would be kept for ever, and one that is still to
        be entered reads its cards from the file.
        """
        if turn_id not in self._signals or (place.card_id is None and place.message_id is None):
            return
        known = self._places.get((turn_id, segment))
        if known is not None and known.card_id is not None:
            place = CardPlace(known.card_id, place.message_id)
        self._places[turn_id, segment] = place
        self._signals[turn_id].ring()

    def get(self, turn_id: TurnId, segment: int) -> CardPlace | None:
        return self._places.get((turn_id, segment))
