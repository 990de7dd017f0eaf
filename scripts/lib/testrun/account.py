"""Counts passes and failures of a whole run, and prints a short report."""

import sys
import threading
import time

LINES_OF_A_REASON = 5


class Account:
    """Shared by threads."""

    def __init__(self) -> None:
        self.passed = 0
        self.failures: list[str] = []
        self._details: dict[str, str] = {}
        self._begin = time.monotonic()
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        """Prints lines with the elapsed minutes and seconds, without interleaving them with other threads'."""
        seconds = int(time.monotonic() - self._begin)
        with self._lock:
            print(f"{seconds // 60:2}:{seconds % 60:02}  {text}", flush=True)

    def count_passed(self, number: int = 1) -> None:
        with self._lock:
            self.passed += number

    def fail(self, name: str, detail: str = "") -> None:
        """Counts a failure and prints it at once; the summary repeats name and reason."""
        with self._lock:
            self.failures.append(name)
            self._details[name] = detail
        self.say("\n       ".join([f"FAILED {name}", *detail.strip().splitlines()]))

    def withdraw(self, name: str) -> None:
        """Withdraws a failure."""
        with self._lock:
            self.failures.remove(name)

    def close(self) -> int:
        """Prints the summary, whose last line is the plain count; returns the exit status."""
        sys.stdout.flush()
        if self.failures:
            print("\nWhat failed:")
            for name in self.failures:
                print(f"  {name}")
                for line in self._details[name].strip().splitlines()[:LINES_OF_A_REASON]:
                    print(f"    {line[:300]}")
        print(f"{self.passed} passed, {len(self.failures)} failed", flush=True)
        return 1 if self.failures or not self.passed else 0
