"""Modules of a package without the code of the packages around them, which may load very much else."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from types import ModuleType


@contextmanager
def empty_packages(*names: str) -> Iterator[None]:
    """Inside, modules of these packages (outer ones first) can be imported, and the packages' own code is not run.

    Afterwards the packages are taken away: whoever imports them later gets the real ones. What is imported already or
    not installed stays as it is.
    """
    added: list[str] = []
    for name in names:
        parent = sys.modules.get(name.rpartition(".")[0])
        spec = PathFinder.find_spec(name, getattr(parent, "__path__", None) if "." in name else None)
        if name in sys.modules or spec is None or spec.submodule_search_locations is None:
            continue
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = list(spec.submodule_search_locations)
        added.append(name)
    try:
        yield
    finally:
        for name in added:
            del sys.modules[name]
