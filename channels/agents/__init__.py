"""Agents: one protocol, several kinds (demo, openai, acp).

This floor knows how to run one turn of a conversation with a model or an agent process and to report it as a stream of
`rules.agent_event` values. It knows nothing of Feishu, cards or tables. It promises that every run ends with exactly
one `Ended`, whatever the other side does, and that `stop` makes it end soon. Heavy packages (openai, acp) are imported
only by the module that needs them, which is imported only when such an agent is configured.
"""
