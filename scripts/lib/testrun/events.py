"""The event stream of Swift Testing (--event-stream-output-path, version 0): the progress of each test."""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Progress:
    """The state of the tests of one process. Times are those at which this process read the event."""

    path: Path
    names: dict[str, str] = field(default_factory=dict)
    begun: dict[str, float] = field(default_factory=dict)
    running: dict[str, float] = field(default_factory=dict)  # by test: the time of the last event
    ended: list[str] = field(default_factory=list)
    issues: dict[str, list[str]] = field(default_factory=dict)  # by test, "" for those of no test
    is_complete: bool = False
    _offset: int = 0

    @property
    def length(self) -> int:
        """How many bytes have been read so far: grows with each event."""
        return self._offset

    def read(self) -> None:
        """Reads the events written since the last call."""
        if not self.path.exists():
            return
        with open(self.path, "rb") as stream:
            stream.seek(self._offset)
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                self._take(json.loads(line))

    def _take(self, record: dict) -> None:
        payload = record["payload"]
        test = payload.get("testID", "")
        match record["kind"], payload.get("kind"):
            case "test", "function":
                self.names[payload["id"]] = payload.get("displayName") or payload["name"]
            case "event", "testStarted" | "testCaseStarted" | "testCaseEnded" if test in self.names:
                self.running[test] = time.monotonic()
                self.begun.setdefault(test, self.running[test])
            case "event", "testEnded" | "testSkipped" if test in self.names:
                self.running.pop(test, None)
                self.ended.append(test)
            case "event", "issueRecorded" if is_failure(payload["issue"]):
                self.issues.setdefault(test, []).append(description(payload))
            case "event", "runEnded":
                self.is_complete = True


def is_failure(issue: dict) -> bool:
    return issue.get("isFailure", not issue.get("isKnown") and issue.get("_severity", "error") == "error")


def description(payload: dict) -> str:
    place = payload["issue"].get("sourceLocation") or {}
    texts = [message["text"] for message in payload.get("messages", [])]
    text = "\n".join(line[:400] for line in "\n".join(texts).splitlines()[:12])
    return f"{place.get('fileID', '')}:{place.get('line', '')}: {text}"
