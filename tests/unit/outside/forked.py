"""`channels` in a process of its own that was forked from one which has imported everything and opened nothing: a fresh
interpreter would spend half a second on imports each time."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import channels.agents.configured
import channels.app
import channels.cli.checking  # noqa: F401  (imported so that no child has to)
from channels.cli import main

LIMIT_S = 30
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])


def run_forked(cwd: Path, arguments: tuple[str, ...], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run([python, "-m", "channels", *arguments])` would give it back."""
    with TemporaryDirectory() as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        child = _CONTEXT.Process(target=_become_channels, args=(str(cwd), arguments, environ, str(out), str(err)))
        child.start()
        child.join(LIMIT_S)
        if child.exitcode is None:
            child.kill()
            raise subprocess.TimeoutExpired(arguments, LIMIT_S)
        return subprocess.CompletedProcess(arguments, child.exitcode, out.read_text(), err.read_text())


def _become_channels(cwd: str, arguments: tuple[str, ...], environ: dict[str, str], out: str, err: str) -> None:
    for file, descriptor in ((out, 1), (err, 2)):
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(cwd)
    sys.argv = ["channels", *arguments]
    main()
