"""The cells of the matrix - a provider, an operation, the number of a call, a kind of fault - and how one is run."""

import random
import time
from collections import Counter
from dataclasses import dataclass

from .calls import Call
from .kinds import CALL_KINDS, CONNECTION_KINDS, NAME_KINDS, REFUSALS, SLOW_KINDS, fault
from .operations import OPERATIONS, Operation
from .phone import Finding, Phone
from .stage import Stage

# An item of the outbox may take a minute if the provider does not reply, and others may wait for it.
IDLE_SECONDS = 180.0
POLL_SECONDS = 0.1
# How many cells share a user.
CELLS_OF_A_USER = 25


@dataclass(frozen=True)
class Cell:
    provider: str
    operation: str
    number: int
    kind: str
    seed: int

    def __str__(self) -> str:
        return f"{self.provider}, {self.operation}, call {self.number}: {self.kind} (seed {self.seed})"


@dataclass
class Outcome:
    """The outcome of a cell."""

    cell: Cell
    # The call that met the fault; `None` if none did.
    struck: Call | None
    calls: int
    repetitions: int
    sign_ins: int
    seconds: float
    complaint: str | None = None


class Runner:
    """Runs the cells of one provider, one after another."""

    def __init__(self, stage: Stage, provider: str):
        self.stage, self.provider = stage, provider
        self.lane = stage.relay.lanes[provider]
        self.phone: Phone | None = None
        self.age = 0
        # By operation: the calls of a run without faults.
        self.clean: dict[str, list[Call]] = {}

    def record(self) -> None:
        """Runs each operation without a fault, twice: the first run of a user makes calls that later ones do not."""
        for operation in OPERATIONS.values():
            if self.provider not in operation.providers:
                continue
            for _ in range(2):
                outcome = self._perform(operation, None, 1)
            if outcome.complaint:
                raise Finding(f"{self.provider}, {operation.name}, without any fault: {outcome.complaint}")

    def cells(self, seed: int) -> list[Cell]:
        """All cells of the provider."""
        rng = random.Random(f"{seed} {self.provider}")
        cells = []
        names = NAME_KINDS if self.stage.relay.names is not None else ()
        for name, calls in self.clean.items():
            for number, call in enumerate(calls, 1):
                kinds = [kind for kind, (fits, _) in CALL_KINDS.items() if fits(call)]
                cells += [Cell(self.provider, name, number, kind, rng.randrange(1 << 32))
                          for kind in [*kinds, *CONNECTION_KINDS, *names]]
        return cells

    def run(self, cell: Cell) -> Outcome:
        outcome = self._perform(OPERATIONS[cell.operation], fault(cell.kind, cell.seed), cell.number)
        outcome.cell = cell
        return outcome

    def _perform(self, operation: Operation, fault_to_meet, number: int) -> Outcome:
        phone = self._phone(operation)
        began = time.monotonic()
        complaint = None
        prepared = operation.prepare(phone)
        self._wait_until_idle(phone)
        phone.begin()
        self.stage.relay.people[self.provider] = phone.person
        unreached = self.stage.calls_without_connection(self.provider)
        self.lane.arm(fault_to_meet, number)
        calls: list[Call] = []
        struck = None
        try:
            try:
                operation.act(phone, prepared)
                self._wait_until_idle(phone)
            finally:
                calls, struck = self.lane.disarm()
            if struck is not None and fault_to_meet.is_of_name and (
                    self.stage.calls_without_connection(self.provider) == unreached):
                raise Finding(f"the server did not notice that the name {struck.host} was not found")
            if fault_to_meet is None:
                self.clean[operation.name] = calls
            self._check(phone, operation, fault_to_meet, calls)
        except Finding as finding:
            complaint = str(finding)
        except Exception as error:  # pylint: disable=broad-except  other cells continue in any case
            complaint = f"{type(error).__name__}: {error}"
        if complaint:
            complaint += "".join(f"\n    {call.describes_itself}" for call in calls[:40])
            self.age = CELLS_OF_A_USER
        return Outcome(Cell(self.provider, operation.name, number, "", 0), struck, len(calls), phone.repetitions,
                       phone.sign_ins, time.monotonic() - began, complaint)

    def _phone(self, operation: Operation) -> Phone:
        """A user with few enough cells."""
        if operation.needs_newcomer:
            return Phone(self.stage, self.provider)
        if operation.removes or self.phone is None or self.age >= CELLS_OF_A_USER:
            if self.phone is not None and not operation.removes:
                self.phone.person.leave()
            phone = Phone(self.stage, self.provider)
            phone.sign_up()
            self._wait_until_idle(phone)
            if operation.removes:
                return phone
            self.phone, self.age = phone, 0
        self.phone.person.clear_up()
        self.age += 1
        return self.phone

    def _wait_until_idle(self, phone: Phone) -> None:
        """Waits until the jobs role has no work left for a user, not even postponed work."""
        if not phone.user_id:
            return
        limit = time.monotonic() + IDLE_SECONDS
        while work := phone.work():
            if time.monotonic() > limit:
                raise Finding(f"work is unfinished after {IDLE_SECONDS:.0f} s: {work}; {phone.seen}")
            if any(is_put_off == "1" for _, is_put_off, _ in work):
                if phone.sign_ins == 0 and (
                        any("evoked" in error for _, _, error in work) or phone.person.has_other_credentials()):
                    phone.sign_in_again()
                phone.hasten_work()
            time.sleep(POLL_SECONDS)

    def _check(self, phone: Phone, operation: Operation, fault_met, calls: list[Call]) -> None:
        usual = len(self.clean.get(operation.name, calls))
        # Each attempt of the phone may repeat all calls; a failed call is repeated at most four times.
        bound = (usual + 6) * (1 + phone.repetitions) + 6 * phone.hastened
        if len(calls) > bound:
            raise Finding(f"{len(calls)} calls instead of the usual {usual}: {phone.seen}")
        codes = Counter(call.code for call in calls if call.code)
        is_refusal = fault_met is not None and fault_met.kind.startswith(REFUSALS)
        if any(count > 1 for count in codes.values()) and not is_refusal:
            raise Finding(f"an authorization code was sent twice: {phone.seen}")
        if operation.removes:
            return
        differences = phone.missing_and_excess()
        if differences:
            raise Finding(f"the storage differs: {differences[:5]}; {phone.seen}")
        for uuid in list(phone.live)[-1:]:
            phone.expect_download(uuid)


def sample(cells: list[Cell], count: int, seed: int) -> list[Cell]:
    """`count` cells, of all operations and kinds as far as possible; none that takes a minute."""
    rng = random.Random(seed)
    pool = [cell for cell in cells if cell.kind not in SLOW_KINDS]
    rng.shuffle(pool)
    chosen: list[Cell] = []
    seen: Counter = Counter()
    # The next one is always of the least frequent kind and operation.
    while pool and len(chosen) < count:
        cell = min(pool[:400], key=lambda cell: (seen[cell.kind] + seen[cell.operation]))
        pool.remove(cell)
        seen[cell.kind] += 1
        seen[cell.operation] += 1
        chosen.append(cell)
    return chosen
