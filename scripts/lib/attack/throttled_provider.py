"""A provider rejects every sign-in with 429 or 503 and Retry-After, while many people try to sign in."""

from collections.abc import Iterator

from .figure import Figure
from .impatient import figures, insisting, measure, others
from .stage import Stage

HOSTS = "www.googleapis.com,oauth2.googleapis.com,openidconnect.googleapis.com"
RETRY_AFTER_SECONDS = 6


def attack(stage: Stage) -> Iterator[Figure]:
    seconds, sizes = (2.0, (20,)) if stage.small else (12.0, (60, 500))
    measures = others(stage)
    alone = measure(measures, seconds)
    guests = [stage.guest("google") for _ in range(max(sizes))]
    for size in sizes:
        for status in (429, 503):
            callers = [
                (f"127.0.{70 + number // 200}.{1 + number % 200}", lambda headers=headers: headers)
                for number, headers in enumerate(guests[:size])]
            stage.sandbox.json("POST", "/sandbox/faults", {
                "host": HOSTS, "status": status, "retryAfter": RETRY_AFTER_SECONDS})
            try:
                with insisting(stage, callers) as answers:
                    attacked = measure(measures, seconds)
            finally:
                stage.sandbox.call("DELETE", "/sandbox/faults")
            yield from figures(stage, f"{size} people, status {status}", alone, attacked, answers)
