"""Every sentence that people read, as one flat value per language.

A language that lacks a sentence does not type-check. Placeholders stand in braces and are filled with `str.format`; a
test compares them between the languages. Sentences say what happened, what was kept and what to do, in this order.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Texts:
    """All sentences of one language. Plain text unless the name ends in `_md`."""

    # State of a turn: the header of its card, and what the chat list shows while it runs
    phase_waiting: str
    phase_thinking: str
    phase_replying: str
    phase_asking: str
    phase_done: str
    phase_stopped: str
    phase_interrupted: str
    phase_failed: str

    # The reply card
    stop: str
    stopping: str
    queued: str  # the body of a card whose turn waits behind another
    queued_at_agent: str  # {count}: turns that get a place at the agent before this one
    asking_note: str  # a card of its own asks whether a tool may run
    reasoning_running: str
    reasoning_done: str
    reasoning_cut: str  # stands where the beginning of a long reasoning was left out
    tools_running: str  # {count}
    tools_done: str  # {count}
    tools_failed: str  # {count} {failed}
    tools_asking: str  # {count}
    tools_denied: str  # {count} {denied}
    tools_unknown: str  # {count} {unknown}: they ran when the service went down
    diff_cut: str  # {count}: lines of a change that are not shown
    tools_earlier: str  # {count}: earlier tool calls that are not listed
    plan: str  # {done} {total}
    plan_more: str  # {count}
    part: str  # {number}: marks every card after the first
    continues: str  # foot of a card that another one follows
    empty_answer: str
    image: str  # the words for a picture without a description
    between_sentences: str  # what stands between two sentences that are put together here
    kept: str  # said under a text that a person has already read and that stays
    stopped_note: str
    interrupted_note: str
    interrupted_tools: str  # {things}: what was being done and may be half done
    interrupted_do: str
    interrupted_offer: str  # instead of `interrupted_do` where this card has the button
    interrupted_offer_above: str  # where the first card of several has it
    max_tokens_note: str
    failed_unknown: str  # when the agent gave no reason
    failed_do: str
    fresh_offer: str  # instead of `failed_do` where the agent could not load its session
    lacks_right: str  # a tool was refused, and the button `ask_right` asks for the right to it
    ask_right: str
    lacks_person: str  # a tool was refused because nobody stands behind the turn
    footer_tokens: str  # {input} {output}
    footer_cached: str  # {cached}
    footer_duration: str  # {duration}
    seconds: str  # {seconds}
    minutes: str  # {minutes} {seconds}
    hours: str  # {hours} {minutes}

    # Toasts: answers to a press of a button
    toast_stopping: str
    toast_already_ended: str
    toast_not_yours: str
    toast_press_again: str
    toast_missed_handling: str  # {count}
    toast_missed_ignoring: str
    toast_missed_handled: str  # a press that comes after the decision
    toast_missed_ignored: str
    toast_continuing: str
    toast_cannot_continue: str
    button_continue: str
    continue_request: str  # what the agent is told when somebody presses Continue
    toast_unknown: str

    # Notices
    notice_title: str
    could_not_start_title: str
    could_not_start: str  # {reason}
    answered_as_text: str
    refused_title: str
    refused_dm_off: str
    expired_title: str
    expired_body: str
    too_long_title: str
    too_long: str  # {size} {limit}
    queue_full_title: str
    queue_full: str  # {count}
    quota_title: str
    quota_used_up: str  # {limit} {unit} {period} {used}
    quota_held: str  # {held}
    quota_until: str  # {until}
    quota_turns: str
    quota_tokens: str
    quota_day: str
    quota_month: str
    toast_quota: str  # {until}
    neutral_title: str
    neutral_body: str
    audited: str  # {why}: the platform's audit refused an answer
    not_understood_title: str
    not_understood: str  # {kind}
    kind_image: str
    kind_file: str
    kind_audio: str
    kind_video: str
    kind_sticker: str
    kind_location: str
    kind_card: str
    kind_share: str
    kind_forward: str
    kind_other: str

    # Reasons, for people
    error_internal: str
    error_agent_unreachable: str
    error_agent_timeout: str
    error_agent_limit: str
    error_shutdown: str
    error_storage: str
    error_folder: str
    error_shut_out: str

    # Commands
    help_title: str
    help_intro: str
    help_commands: str
    help_agent: str  # {agent}
    help_admin: str
    command_help: str
    command_new: str
    command_stop: str
    command_status: str
    command_sessions: str
    command_resume: str
    command_agent: str
    command_cd: str
    command_usage: str
    command_whoami: str
    command_userid: str
    command_groupid: str
    command_health: str
    unknown_command: str  # {command}
    unknown_command_nearest: str  # {command} {nearest}
    new_done: str
    new_in_topic: str
    new_nothing: str
    stop_done: str
    stop_nothing: str
    whoami_title: str
    whoami_name: str  # {name}
    whoami_user_id: str  # {user_id}
    whoami_open_id: str  # {open_id}
    whoami_admin: str
    whoami_not_admin: str
    userid_answer: str  # {user_id}
    groupid_answer: str  # {chat_id}
    groupid_private: str  # {chat_id}
    health_ok: str
    health_degraded: str  # {why}

    # /sessions, /resume, /cd, /usage
    sessions_title: str
    sessions_none: str
    sessions_hint: str
    sessions_earlier: str  # {count}: earlier ones that are not listed
    sessions_archived: str  # {numbers}
    sessions_facts: str  # {turns} {tokens}
    sessions_here: str  # marks the one that this place is in
    sessions_unsaid: str
    resume_how: str
    resume_unknown: str  # {number}
    resume_here: str  # {number}
    resume_done: str  # {number} {words}
    command_archive: str
    command_unarchive: str
    command_delete: str
    archive_how: str  # {command}
    archive_nothing: str
    archive_done: str
    archive_unchanged: str
    archive_unknown: str
    archive_busy: str
    archive_deleted: str
    unarchive_done: str
    unarchive_unchanged: str
    resume_archived: str  # {number}
    button_delete: str
    delete_ask: str  # {number} {words}
    delete_done: str
    cd_nowhere: str
    cd_here: str  # {folder}
    cd_done: str  # {folder}
    cd_outside: str  # {folder}
    cd_missing: str  # {folder}
    agents_title: str
    agents_hint: str
    agents_here: str  # marks the one that answers in this place
    agents_gone: str  # {agent} {other}: the conversation's own is not configured any more
    agent_done: str  # {agent}
    agent_chosen: str  # {agent}
    agent_here_already: str  # {agent}
    agent_unknown: str  # {agent} {agents}
    agent_unknown_nearest: str  # {agent} {nearest} {agents}
    agent_gone_note: str  # {agent} {other}: on the card of a turn
    usage_title: str
    usage_day: str
    usage_month: str
    usage_all: str
    usage_facts: str  # {turns} {sessions} {tokens}

    # The guide: the first card in a private chat, and in a group that the bot was added to
    guide_title: str  # {name}
    guide_private: str
    guide_group: str
    guide_topics: str
    guide_commands: str

    # The short message at the end of a long answer
    notify_done: str  # {what} {duration}
    notify_failed: str  # {what} {duration}

    # /status
    status_title: str
    status_agent: str
    status_session: str
    status_no_session: str
    status_running: str
    status_nothing_running: str
    status_queued: str
    status_turns: str
    status_tokens: str
    status_folder: str
    status_connection: str
    status_connected: str
    status_not_connected: str
    status_uptime: str
    status_version: str

    # The pending card: messages that came while the service was away
    missed_title: str
    missed_lead: str  # {count}
    missed_more: str  # {count}
    missed_handle: str
    missed_ignore: str
    missed_handled_title: str
    missed_handled: str  # {count}
    missed_ignored_title: str
    missed_ignored: str  # {count}
    missed_by: str  # who decided follows

    # What an agent is given of a message beside its words; reasons stand in `read_not` and in `unread_note`
    thing_image: str
    thing_file: str
    thing_audio: str
    thing_video: str
    thing_sticker: str
    thing_location: str
    thing_group: str
    thing_person: str
    thing_folder: str
    thing_message: str
    thing_forward: str
    thing_other: str
    reason_too_large: str  # {limit}
    reason_too_many: str  # {limit}
    reason_slow: str
    reason_gone: str
    reason_hidden: str
    reason_withheld: str
    reason_storage: str
    reason_refused: str
    reason_unreachable: str
    reason_deep: str
    reason_unknown: str
    read_quoted: str
    read_forwarded: str
    read_left_out: str  # {count}
    read_cut: str
    read_not: str  # {reason}
    read_more: str  # {count}
    unread_note: str  # {things}

    # Access: requests, decisions, switches, and what admins type
    access_title: str
    access_lead: str  # {who}
    access_in_group: str
    access_says: str
    access_more: str  # {count}
    access_allow: str
    access_allow_day: str
    access_deny: str
    access_chat: str
    access_wiki_read: str
    access_wiki_write: str
    access_code_write: str
    access_admin: str
    access_expires: str
    access_by: str
    access_approved_title: str
    access_approved: str  # {what}
    access_denied_title: str
    access_denied: str
    access_expired_title: str
    access_expired: str
    access_withdrawn_title: str
    access_withdrawn: str
    access_nothing: str
    kept_title: str
    kept_body: str
    kept_approved_title: str
    kept_approved: str
    kept_denied_title: str
    kept_denied: str
    kept_expired_title: str
    kept_expired: str
    kept_withdrawn_title: str
    kept_withdrawn: str
    not_admitted_title: str
    not_admitted: str
    denied_title: str
    denied_body: str
    toast_access_allowed: str  # {who}
    toast_access_denied: str  # {who}
    toast_access_switched: str
    toast_access_approved: str
    toast_access_was_denied: str
    toast_access_expired: str
    toast_access_withdrawn: str
    toast_access_not_admin: str
    toast_access_fixed: str
    toast_access_last_admin: str
    command_grant: str
    command_revoke: str
    command_users: str
    command_requests: str
    command_web: str
    command_settlement: str
    command_pause: str
    command_resume_settlement: str
    admins_only: str
    grant_how: str
    grant_unclear: str  # {word}
    request_unknown: str
    person_unknown: str  # {name}
    person_ambiguous: str  # {name}, {ids}
    grant_done: str  # {who}, {what}
    revoke_done: str  # {who}, {what}
    revoke_open: str
    users_title: str
    users_none: str
    users_line: str  # {who}, {what}
    users_by_config: str
    users_until: str
    users_messages: str  # {count}
    requests_title: str
    requests_none: str
    requests_line: str  # {who}, {count}
    requests_hint: str
    web_title: str
    web_link: str  # {url}, {minutes}
    web_only_there: str
    web_text: str
    web_private: str
    web_off: str
    web_too_many: str
    claim_title: str
    claim_done: str
    claim_used: str
    claim_expired: str
    claim_unknown: str
    claim_too_many: str
