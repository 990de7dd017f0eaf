"""Attacks on a private stack, one in each module of this package.

A module has a function `attack(stage)` that does harm as its name says, and yields a `Figure` for each thing that others
may notice; `stage.py`, `figure.py` and `hostile.py` are what they share.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable

from .figure import Figure

SHARED = {"stage", "figure", "hostile"}


def names() -> list[str]:
    """All attacks there are."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in SHARED)


def load(name: str) -> Callable[..., Iterable[Figure]]:
    """The function of one of them."""
    return importlib.import_module(f"{__name__}.{name}").attack
