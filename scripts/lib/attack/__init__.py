"""Attacks on a private stack, one in each module of this package.

A module has a function `attack(stage)` that performs the attack, and yields a `Figure` for each effect that others may
notice; `STACK_OPTIONS`, if present, are the options of the stack that it needs. `stage.py`, `figure.py`, `hostile.py`
and `impatient.py` are shared by the modules.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable

from .figure import Figure

SHARED = {"stage", "figure", "hostile", "impatient"}


def names() -> list[str]:
    """The names of all attacks."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in SHARED)


def load(name: str) -> Callable[..., Iterable[Figure]]:
    """The function of an attack."""
    return importlib.import_module(f"{__name__}.{name}").attack


def stack_options(name: str) -> tuple[str, ...]:
    """The options of `scripts/stack up` for an attack."""
    return getattr(importlib.import_module(f"{__name__}.{name}"), "STACK_OPTIONS", ())
