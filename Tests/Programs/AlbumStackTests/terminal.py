#!/usr/bin/python3
"""A simulated terminal of the requested kind: runs a command in it, and prints its output.

usage: terminal.py ANSWER COMMAND ...

ANSWER, in Python's notation for bytes, is the reply to a request for device attributes; empty for a terminal that does
not reply.
"""

import ast
import os
import pty
import select
import sys

answer = ast.literal_eval(f'b"{sys.argv[1]}"')
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
written = b""
asked = False
while select.select([terminal], [], [], 60)[0]:
    try:
        piece = os.read(terminal, 65_536)
    except OSError:
        break
    if not piece:
        break
    written += piece
    if not asked and b"\x1b[c" in written:
        asked = True
        os.write(terminal, answer)
os.close(terminal)
_, status = os.waitpid(child, 0)
sys.stdout.buffer.write(written)
sys.exit(os.waitstatus_to_exitcode(status))
