"""The benchmarks' simulated phone uplink, bench/benchmark/uplink.py, in front of a listening socket.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import socket
import sys
import threading
import time
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "bench"), str(REPOSITORY / "scripts" / "lib")]

# pylint: disable=wrong-import-position
from benchmark.uplink import SlowUplink  # noqa: E402

PATIENCE_SECONDS = 20.0
BYTES_PER_SECOND = 200_000
SENT = bytes(range(250)) * 400  # half a second's worth


class SlowUplinkTests(unittest.TestCase):
    def setUp(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        listener.settimeout(PATIENCE_SECONDS)
        self.addCleanup(listener.close)
        uplink = SlowUplink(listener.getsockname()[1], BYTES_PER_SECOND)
        uplink.__enter__()
        self.addCleanup(uplink.__exit__)
        self.phone = socket.create_connection(("127.0.0.1", uplink.port), PATIENCE_SECONDS)
        self.server, _ = listener.accept()
        self.server.settimeout(PATIENCE_SECONDS)
        self.addCleanup(self.phone.close)
        self.addCleanup(self.server.close)

    @staticmethod
    def send(source: socket.socket) -> None:
        def work() -> None:
            source.sendall(SENT)
            source.shutdown(socket.SHUT_WR)

        threading.Thread(target=work, daemon=True).start()

    @staticmethod
    def received(sink: socket.socket) -> bytes:
        pieces = []
        while piece := sink.recv(65536):
            pieces.append(piece)
        return b"".join(pieces)

    def test_what_the_phone_sends_arrives_whole_and_at_the_rate(self) -> None:
        began = time.monotonic()
        self.send(self.phone)

        self.assertEqual(self.received(self.server), SENT)
        # The relay may catch up by 20 ms.
        self.assertGreaterEqual(time.monotonic() - began, len(SENT) / BYTES_PER_SECOND - 0.02)

    def test_the_reply_arrives_while_the_phone_still_sends(self) -> None:
        self.send(self.phone)
        self.send(self.server)

        self.assertEqual(self.received(self.phone), SENT)
        # The phone's bytes would take half a second: only a part of them has arrived.
        self.assertLess(len(self.server.recv(len(SENT), socket.MSG_PEEK)), len(SENT))

    def test_a_phone_that_hangs_up_is_noticed_by_the_server(self) -> None:
        self.phone.close()

        self.assertEqual(self.server.recv(1), b"")


if __name__ == "__main__":
    unittest.main()
