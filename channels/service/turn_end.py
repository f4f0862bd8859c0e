"""How a turn ends: with one commit, whose intents the durable lane carries out."""

from channels.cards.conversation import first_words
from channels.cards.footer import duration
from channels.cards.markdown import plain
from channels.cards.texts import texts
from channels.logs import LOOP_FAILED, TURN_ENDED, TURN_FENCED, get_logger
from channels.rules.agent_event import Outcome
from channels.rules.tool_output import is_long
from channels.rules.turn import View, finished
from channels.service.context import Context
from channels.service.delivery import Delivery
from channels.service.durably import commit_surely
from channels.service.stopping import draw
from channels.service.turn_log import Entry, TurnLog
from channels.store.transactions.run import Finish, Lease, Notice, finish_if_stopped, finish_turn, uuids_for
from channels.store.transactions.settle import Spent
from channels.store.turns import find_turn

log = get_logger(__name__)


class TurnEnd:
    """The ways out of one turn, whoever has it now: a lease that is lost ends nothing."""

    def __init__(self, context: Context, delivery: Delivery, lease: Lease, written: TurnLog) -> None:
        self._context, self._delivery, self._lease, self._log = context, delivery, lease, written

    async def finish(self, view: View, prefix: str, asked: str) -> None:
        """End the turn with this view; where that shows a defect of ours, with an error and nothing else. `prefix` was
        said by an earlier turn, `asked` is what this one was asked."""
        try:
            await self._finish(view, self._log.close(view, prefix), asked)
        except Exception as error:  # otherwise its card would run, and its session wait, until the next boot
            log.error(LOOP_FAILED, loop="turn.finish", turn_id=self._lease.turn_id, exc_info=error)
            words = texts(self._context.preferences.language)
            bare = View(view.turn_id, agent=view.agent, usage=view.usage, duration_ms=view.duration_ms)
            view = finished(bare, Outcome.FAILED, words.error_internal)
            await self._finish(view, TurnLog().close(view), asked)

    async def _finish(self, view: View, entries: tuple[Entry, ...], asked: str) -> None:
        context, language = self._context, self._context.preferences.language
        offer = view.outcome is Outcome.INTERRUPTED and context.preferences.replay_interrupted == "ask"
        cards = draw(view, language, offer=offer)
        stopped = cards if view.outcome is Outcome.STOPPED else draw(finished(view, Outcome.STOPPED), language)
        assert view.outcome is not None
        count = max(len(cards), len(stopped))
        uuids = context.uuids(uuids_for(count + 8))
        usage = view.usage
        spent = Spent(usage.input_tokens, usage.output_tokens, usage.cached_tokens, view.agent, view.model)
        lost, notice = view.lost_session, self._notice(view, asked)
        output = (context.uuids(1)[0], context.uuids(1)[0]) if any(map(is_long, view.tools)) else None
        finish = Finish(view.outcome, entries, cards, stopped, uuids, notice, spent, lost_session=lost, output=output)
        done = await commit_surely(
            context, lambda: context.database.run(finish_turn, self._lease, finish, context.now())
        )
        if done is None:
            log.warning(TURN_FENCED, turn_id=self._lease.turn_id)
            return
        self._delivery.kick(done.lanes)
        context.turn_ended(view.agent, done.settlement)
        context.permissions.ring()
        log.info(
            TURN_ENDED,
            turn_id=self._lease.turn_id,
            session_id=self._lease.session_id,
            outcome=done.outcome,
            duration_ms=view.duration_ms,
            input_tokens=view.usage.input_tokens,
            output_tokens=view.usage.output_tokens,
            characters=len(view.answer),
            cards=len(cards),
        )

    async def unentered(self, view: View, prefix: str, asked: str) -> None:
        """It was not entered: because a stop was asked for, which ends it, or because it is not ours."""
        context = self._context
        cards = draw(finished(view, Outcome.STOPPED), context.preferences.language)
        finish = Finish(Outcome.STOPPED.value, (), cards, cards, context.uuids(uuids_for(len(cards))))
        done = await context.database.run(finish_if_stopped, self._lease, finish, context.now())
        log.info(TURN_FENCED if done is None else TURN_ENDED, turn_id=self._lease.turn_id, outcome="stopped")
        if done is not None:
            self._delivery.kick(done.lanes)
            context.turn_ended("", done.settlement)
        else:
            await self.orphan(view, prefix, asked)

    async def orphan(self, view: View, prefix: str, asked: str) -> None:
        """An enter may have committed although its COMMIT was answered with an error: nobody runs such a turn, and
        nobody ever may again, so it ends as interrupted."""
        turn = await self._context.database.read(find_turn, self._lease.turn_id)
        if turn is not None and turn.state == "entered" and turn.start_epoch == self._lease.start_epoch:
            await self.finish(finished(view, Outcome.INTERRUPTED), prefix, asked)

    def _notice(self, view: View, asked: str) -> Notice | None:
        """What a long turn says at its end."""
        context, words = self._context, texts(self._context.preferences.language)
        after_s = context.preferences.notify_after_s
        if after_s == 0 or view.duration_ms < after_s * 1000:
            return None
        text = words.notify_failed if view.outcome is Outcome.FAILED else words.notify_done
        what = first_words(plain(asked, words.image))
        said = text.format(what=what, duration=duration(view.duration_ms, words))
        return Notice(said, context.uuids(1)[0])
