"""Real, unmodified ACP agents from the package registries, run for real: `make agents`.

The whole product (an emulator process, `channels run` in a process of its own) with each agent of `catalogue.py`,
which speaks to a fake model on loopback. Nothing here is needed by CI, except that the fake model's own rules are
tested in `test_mind.py`.
"""
