"""Attacks on a private stack, one in each module of this package.

A module has a function `attack(stage)` that does harm as its name says, and yields a `Figure` for each thing that others
may notice; its `STACK_OPTIONS`, if there are any, are those of the stack that it needs. `stage.py`, `figure.py`,
`hostile.py` and `impatient.py` are what the modules share.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable

from .figure import Figure

SHARED = {"stage", "figure", "hostile", "impatient"}


def names() -> list[str]:
    """All attacks there are."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in SHARED)


def load(name: str) -> Callable[..., Iterable[Figure]]:
    """The function of one of them."""
    return importlib.import_module(f"{__name__}.{name}").attack


def stack_options(name: str) -> tuple[str, ...]:
    """What `scripts/stack up` needs for it."""
    return getattr(importlib.import_module(f"{__name__}.{name}"), "STACK_OPTIONS", ())
