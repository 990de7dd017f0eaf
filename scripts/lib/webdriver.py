"""A window of a real browser, controlled through the W3C's WebDriver protocol; scripts/lib/with-browser starts the driver."""

import base64
import json
import os
import time
import urllib.error
import urllib.request
from pathlib import Path

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver, section 12.1
SECONDS = 180.0  # a browser starts slowly while everything else of a whole run is in progress


class BrowserError(Exception):
    """The browser failed a command, or did not show the expected page."""


class Window:
    """A window; use it in a `with` statement, which closes it."""

    def __init__(self, width: int, height: int):
        self.driver = os.environ["WEBDRIVER_URL"]
        options = {
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
            # Otherwise a window has a minimum of 500 pixels.
            "mobileEmulation": {"deviceMetrics": {
                "width": width, "height": height, "pixelRatio": 1.0, "mobile": width < 600, "touch": False}},
        }
        session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.session = f"/session/{session['sessionId']}"
        self.post("/timeouts", {"implicit": 20_000})

    def __enter__(self) -> "Window":
        return self

    def __exit__(self, *_) -> None:
        self._call("DELETE", self.session)

    def open(self, url: str) -> None:
        self.post("/url", {"url": url})

    def find(self, selector: str) -> str:
        """The first element that the selector matches; waits until it exists."""
        return self.post("/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector: str) -> None:
        self.post(f"/element/{self.find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        """Replaces the contents of a field; for a file field, `text` is the path of a file."""
        element = self.find(selector)
        if self.evaluate("return arguments[0].type", {ELEMENT: element}) != "file":
            self.post(f"/element/{element}/clear", {})
        self.post(f"/element/{element}/value", {"text": text})

    def text(self, selector: str) -> str:
        """The text that a person sees in an element."""
        return self._call("GET", f"{self.session}/element/{self.find(selector)}/text")

    def evaluate(self, body: str, *arguments):
        """The result of a function body that the driver runs alongside the page's own scripts."""
        return self.post("/execute/sync", {"script": body, "args": list(arguments)})

    def wait(self, body: str, what: str):
        """Waits until a function body returns a true value."""
        deadline = time.monotonic() + SECONDS
        while not (value := self.evaluate(body)):
            if time.monotonic() > deadline:
                raise BrowserError(f"After {SECONDS:.0f} s this is still not true: {what}.")
            time.sleep(0.05)
        return value

    def console(self) -> list[str]:
        """The console's messages since the last call."""
        entries = self.post("/se/log", {"type": "browser"})
        return [f"{entry['level']}: {entry['message']}" for entry in entries]

    def requests(self) -> list[str]:
        """The addresses that pages have requested since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.post("/se/log", {"type": "performance"})]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]

    def emulate(self, medium: str = "", scheme: str = "light") -> None:
        """Shows pages as on another medium, such as `print`, or with the dark colour scheme."""
        self.post("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
            "media": medium, "features": [{"name": "prefers-color-scheme", "value": scheme}]}})

    def picture(self, file: Path) -> None:
        """Writes a PNG screenshot of the whole page."""
        shot = self.post("/goog/cdp/execute", {
            "cmd": "Page.captureScreenshot", "params": {"captureBeyondViewport": True}})
        file.write_bytes(base64.b64decode(shot["data"]))

    def post(self, path: str, body: dict):
        return self._call("POST", self.session + path, body)

    def _call(self, method: str, path: str, body: dict | None = None):
        request = urllib.request.Request(
            self.driver + path, method=method, headers={"Content-Type": "application/json"},
            data=None if body is None else json.dumps(body).encode())
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=SECONDS) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            message = json.load(error)["value"]
            raise BrowserError(f"{method} {path}: {message['error']}: {message['message'].splitlines()[0]}") from None
        except OSError as error:
            raise BrowserError(f"{method} {path}: the driver does not reply: {error}") from None
