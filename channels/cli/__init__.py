"""The command line: `channels run`, `demo`, `check-config`, `emulator`, `status`.

This floor turns words on a command line into settings and calls, and errors into one clear line and an exit code:
0 ok, 1 a check failed, 2 usage or configuration, 3 refused. It holds no logic of the product. Answers go to stdout,
everything else to stderr. Heavy packages are imported inside the commands, so that `--help` stays quick.
"""

from channels.cli.commands import main

__all__ = ["main"]
