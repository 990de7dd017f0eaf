"""The benchmarks' slow uploads, bench/benchmark/slow_phones.py, with a listening socket in place of nginx.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import socket
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "bench"), str(REPOSITORY / "scripts" / "lib")]

# pylint: disable=wrong-import-position
from benchmark.load import LoadError  # noqa: E402
from benchmark.slow_phones import SlowPhones, Uploads  # noqa: E402

PATIENCE_SECONDS = 20.0
BYTES_PER_SECOND = 1000  # in slices of 100
PERSON = SimpleNamespace(group="GROUP", user_id=1, headers=lambda: {"X-token-type": "GoogleToken"})


class SlowPhoneTests(unittest.TestCase):
    def setUp(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PATIENCE_SECONDS)
        self.addCleanup(self.listener.close)
        self.in_flight = 0
        self.stack = SimpleNamespace(
            environment={"SYNC_HTTP_URL": f"http://127.0.0.1:{self.listener.getsockname()[1]}"},
            metric=lambda _: self.in_flight, sql=lambda _: "0\n")

    def phones(self, count: int) -> SlowPhones:
        return SlowPhones(Uploads(self.stack, PERSON), count, BYTES_PER_SECOND)

    def body_bytes(self) -> int:
        """The bytes of the file that the next connecting phone sends."""
        connection, _ = self.listener.accept()
        connection.settimeout(PATIENCE_SECONDS)
        received = b""
        with connection:
            while piece := connection.recv(65536):
                received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        self.assertTrue(head.startswith(b"POST /UploadFile/?"), head)
        self.assertIn(b"Content-Length: 67108864", head)
        return len(body)

    def test_all_that_begin_at_once_send_at_the_same_rate(self) -> None:
        with self.phones(4) as phones:
            phones.send(0.3)

        self.assertEqual([self.body_bytes() for _ in range(4)], [300, 300, 300, 300])

    def test_those_that_begin_later_have_sent_less(self) -> None:
        with self.phones(4) as phones:
            phones.send(0.2, begin_seconds=0.4)

        self.assertEqual([self.body_bytes() for _ in range(4)], [600, 500, 400, 300])

    def test_too_few_in_flight_are_a_failure_that_is_named(self) -> None:
        with self.phones(4) as phones:
            self.in_flight = 3
            with self.assertRaisesRegex(LoadError, "3 uploads are in progress instead of 4"):
                phones.check_in_flight()
            self.in_flight = 0

    def test_an_upload_that_ends_too_early_is_a_failure(self) -> None:
        with self.phones(1) as phones:
            phones.send(0.0)
            self.listener.accept()[0].close()
            with self.assertRaisesRegex(LoadError, "ended too early"):
                for _ in range(100):
                    phones.phones[0].send(bytes(100))


if __name__ == "__main__":
    unittest.main()
