"""P18: the cost of an account switch for a person with many files, compared with the first upload of those files.

Both accounts are Google's. The phone has all files, and uploads all of them again; versions do not change.
"""

import statistics
import time
from collections.abc import Callable

from demonstration.phone import new_uuid
from demonstration.web import query

from .bench_stack import BenchStack
from .busy_phone import BusyPhone
from .load import LoadError
from .people import Person, commit, sign_up
from .processor_time import ROLES, processor_seconds
from .table import Result

FILE_BYTES = 20_000
AT_ONCE = 8
# Fewer requests than nginx serves on 8 connections before it closes them.
BATCH = 500


class Switch:
    """One person, before and after the switch."""

    def __init__(self, stack: BenchStack, count: int):
        self.stack = stack
        self.person = sign_up(stack, "Svenja")
        self.pids = [pid for role in ROLES for pid in stack.pids(role)]
        self.phone = BusyPhone(stack, BATCH, FILE_BYTES)
        self.batches = [[new_uuid() for _ in range(BATCH)] for _ in range(count // BATCH)]
        self.times: dict[str, float] = {}

    def run(self) -> tuple[list[float], list[float], list[float], list[float]]:
        """Files per second and CPU milliseconds per file: for the second upload, and for the first."""
        first = [self._measured(lambda number=number, uuids=uuids: self._upload(number, uuids))
                 for number, uuids in enumerate(self.batches)]
        switch = self._switch()
        again = [self._measured(lambda uuids=uuids: self._upload_again(uuids)) for uuids in self.batches]
        status = self.person.phone.ask("GET", "GetAccountSwitchStatus", switchId=switch)
        if status["numberAwaiting"] != 0 or status["numberDone"] != BATCH * len(self.batches):
            raise LoadError(f"Not all files have their bytes again: {status}")
        self._timed("finish", lambda: self.person.phone.ask("POST", "FinishAccountSwitch", switchId=switch))
        rates, costs = zip(*again)
        first_rates, first_costs = zip(*first)
        return list(rates), list(first_rates), list(costs), list(first_costs)

    def _measured(self, action: Callable[[], object]) -> tuple[float, float]:
        before, began = processor_seconds(self.pids), time.monotonic()
        action()
        rate = BATCH / (time.monotonic() - began)
        return rate, (processor_seconds(self.pids) - before) / BATCH * 1e3

    def _timed(self, name: str, action: Callable[[], dict]) -> dict:
        began = time.monotonic()
        reply = action()
        self.times[name] = (time.monotonic() - began) * 1e3
        return reply

    def _upload(self, master_version: int, uuids: list[str]) -> None:
        self._send("UploadFile", uuids, masterVersion=master_version)
        if commit(self.person, master_version) != BATCH:
            raise LoadError("Not all files are committed.")

    def _upload_again(self, uuids: list[str]) -> None:
        self._send("ReuploadFile", uuids)

    def _send(self, endpoint: str, uuids: list[str], **parameters) -> None:
        parameters |= {"fileVersion": 0, "mimeType": "image/jpeg", "sharingGroupUUID": self.person.group}
        urls = [
            self.stack.environment["SYNC_URL"] + f"/{endpoint}"
            + query(parameters | {"fileUUID": uuid, "checkSum": check_sum})
            for uuid, check_sum in zip(uuids, self.phone.check_sums, strict=True)]
        self.phone.send(urls, AT_ONCE, 'request = "POST"', *self.person.options())

    def _switch(self) -> str:
        """Switches accounts; afterwards the person's phone is signed in with the new account."""
        identity = self.person.phone.ask("GET", "CheckCreds", reportIdentity=1)
        # A young grant does not count.
        self.stack.sql(
            "UPDATE device_grants SET created_at = created_at - INTERVAL 30 DAY, signed_in_at = UTC_TIMESTAMP()"
            f" WHERE grant_hash = UNHEX(SHA2('{identity['deviceGrant']}', 256))")
        account = self.stack.sandbox.json(
            "POST", "/sandbox/accounts", {"provider": "google", "name": "Svenja's other account"})
        phone = self.person.phone
        phone.account = account["id"]
        self.person = Person(
            phone, account["id"], self.person.group, self.person.user_id, self.person.group_id, account["accessToken"])
        begun = self._timed("begin", lambda: phone.ask(
            "POST", "BeginAccountSwitch", headers={"SyncServer-Device-Grant": identity["deviceGrant"]},
            userAppId=identity["userAppId"], cloudFolderName="Bench"))
        confirmed = self._timed("confirm", lambda: phone.ask(
            "POST", "ConfirmAccountSwitch", switchId=begun["switchId"], expectedEpoch=0))
        if confirmed["numberAwaiting"] != BATCH * len(self.batches):
            raise LoadError(f"Not all files await their bytes: {confirmed}")
        self._timed("status", lambda: self._all_awaiting(begun["switchId"]))
        return begun["switchId"]

    def _all_awaiting(self, switch: str) -> dict:
        """Reads all pages of the list of files that wait for their bytes."""
        count, cursor = 0, None
        while True:
            page = self.person.phone.ask("GET", "GetAccountSwitchStatus", switchId=switch, cursor=cursor)
            count, cursor = count + len(page["awaiting"]), page.get("nextCursor")
            if cursor is None:
                break
        if count != BATCH * len(self.batches):
            raise LoadError(f"The list of waiting files has {count} entries.")
        return page


def of_many_files(stack: BenchStack, count: int) -> list[Result]:
    switch = Switch(stack, count)
    rates, first_rates, costs, first_costs = switch.run()
    others = ", ".join(f"{name} {switch.times[name]:.0f} ms" for name in ("begin", "status", "finish"))
    files = f"{count:,} files of {FILE_BYTES // 1000} kB"
    return [
        Result("P18a", f"ConfirmAccountSwitch with {files}", "ms", 2_000, 500, [switch.times["confirm"]],
               note=f"the other requests: {others} (status: all pages)"),
        Result("P18b", f"uploading {files} again after a switch, against the first time, {AT_ONCE} at once", "/s", 0.75, 1,
               rates, first_rates,
               note=f"all of them: {count / statistics.mean(rates):.0f} s"),
        Result("P18c", "CPU time of syncd for each of them, the same", "ms", 1.33, 1, costs, first_costs, is_cost=True),
    ]
