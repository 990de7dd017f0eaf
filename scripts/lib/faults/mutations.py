"""Real replies with changed JSON, framing or headers."""

import json
import random
import re

from .calls import Answer, Call

HUGE_TEXT = "x" * 1_000_000
DEPTH = 50_000
# Each entity repeats the previous one ten times: expanded, 10^9 characters.
BOMB = b"<!DOCTYPE bomb [<!ENTITY e0 'x'>" + b"".join(
    f"<!ENTITY e{number} '{f'&e{number - 1};' * 10}'>".encode() for number in range(1, 10)) + b"]>"
FLOOD = 2_000
UNCHANGED = object()


def places(value, path=()):
    """The path of each value in a JSON tree, except the root."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def changed(body: bytes, rng: random.Random, replacement) -> bytes:
    """The text with the value at a random place replaced by the result of `replacement`; not a value that it leaves
    unchanged."""
    tree = json.loads(body)
    possible = [path for path in places(tree) if replacement(at(tree, path)) is not UNCHANGED]
    if not possible:
        return body
    path = rng.choice(possible)
    at(tree, path[:-1])[path[-1]] = replacement(at(tree, path))
    return json.dumps(tree).encode()


def other_type(value):
    if isinstance(value, str):
        return 17
    if isinstance(value, bool):
        return "true"
    if isinstance(value, (int, float)):
        return [value]
    return "text"


def number(replacement):
    """Google and OneDrive write some numbers as text."""
    def act(value):
        if isinstance(value, bool):
            return UNCHANGED
        if isinstance(value, (int, float)):
            return replacement
        return str(replacement) if isinstance(value, str) and value.isdigit() and len(value) < 12 else UNCHANGED
    return act


def rewritten(change, is_such=lambda answer: answer.is_json):
    """`change` receives the text of the reply's JSON."""
    def act(call: Call, conversation, rng: random.Random):
        answer = conversation.forward(call)
        if is_such(answer):
            answer.body = change(answer.body, rng)
        conversation.send(answer.head() + answer.body)
        return True
    return act


def rewritten_xml(change):
    return rewritten(change, lambda answer: answer.is_xml)


def mutated(replacement):
    return rewritten(lambda body, rng: changed(body, rng, replacement))


def duplicated(body: bytes, _) -> bytes:
    """Repeats the first member with a different type after the correct one."""
    tree = json.loads(body)
    if not isinstance(tree, dict) or not tree:
        return body
    name = json.dumps(next(iter(tree)))
    return body.rstrip()[:-1] + f",{name}:[1,2]}}".encode()


def nested(_, __) -> bytes:
    return b"[" * DEPTH + b"]" * DEPTH


def cut_text(body: bytes, rng: random.Random) -> bytes:
    """Framing and length are correct, the JSON or XML is not."""
    return body[:rng.randrange(1, len(body))]


def without_numbers(body: bytes, _) -> bytes:
    """Replaces sizes and quotas with words."""
    return re.sub(rb">\d+<", b">many<", body)


def nested_elements(_, __) -> bytes:
    return b'<?xml version="1.0"?>' + b"<a>" * DEPTH + b"</a>" * DEPTH


def exploding(body: bytes, _) -> bytes:
    """Replaces the first text with nested entities."""
    declaration, _, rest = body.partition(b"?>")
    return declaration + b"?>" + BOMB + re.sub(rb">[^<>\s][^<>]*<", b">&e9;<", rest, count=1)


def framed(frame):
    """`frame` sends the reply in its own way; the connection is closed afterwards."""
    def act(call: Call, conversation, rng: random.Random):
        frame(conversation.forward(call), conversation, rng)
        return False
    return act


def too_long(answer: Answer, conversation, _) -> None:
    conversation.send(answer.head(length=len(answer.body) + 1000) + answer.body)


def too_short(answer: Answer, conversation, _) -> None:
    conversation.send(answer.head(length=len(answer.body) // 2) + answer.body)


def bad_length(answer: Answer, conversation, _) -> None:
    head = answer.head(length=-1)[:-2] + b"Content-Length: 99999999999999999999999\r\n\r\n"
    conversation.send(head + answer.body)


def bad_chunks(answer: Answer, conversation, rng: random.Random) -> None:
    head = answer.head(length=-1)[:-2] + b"Transfer-Encoding: chunked\r\n\r\n"
    conversation.send(head + b"5\r\n" + answer.body[:5] + b"\r\n" + rng.randbytes(40) + b"\r\n")


def interim_storm(answer: Answer, conversation, _) -> None:
    for _ in range(FLOOD):
        conversation.send(b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n")
    conversation.send(answer.head() + answer.body)


def header_flood(answer: Answer, conversation, _) -> None:
    answer.headers += [(f"X-Flood-{number}", "y" * 200) for number in range(FLOOD)]
    conversation.send(answer.head() + answer.body)


def one_huge_header(answer: Answer, conversation, _) -> None:
    answer.headers.append(("X-Huge", "z" * 400_000))
    conversation.send(answer.head() + answer.body)


def no_http(_, conversation, rng: random.Random) -> None:
    conversation.send(rng.randbytes(500))


def some_json(call: Call) -> bool:
    """Replies without JSON pass such a fault unchanged."""
    if call.provider == "webdav":
        return call.path.startswith("/ocs/")
    if call.provider == "s3":
        return False
    return not call.is_download or call.host == "api.dropboxapi.com"


def some_xml(call: Call) -> bool:
    return call.asks_for_xml


def anything(_: Call) -> bool:
    return True


MUTATIONS = {
    "JSON: value of another type": (some_json, mutated(other_type)),
    "JSON: null": (some_json, mutated(lambda value: UNCHANGED if value is None else None)),
    "JSON: huge number": (some_json, mutated(number(10 ** 30))),
    "JSON: negative number": (some_json, mutated(number(-5))),
    "JSON: fraction": (some_json, mutated(number(0.5))),
    "JSON: text of 1 MB": (some_json, mutated(lambda value: HUGE_TEXT if isinstance(value, str) else UNCHANGED)),
    "JSON: nested 50,000 deep": (some_json, rewritten(nested)),
    "JSON: duplicate member": (some_json, rewritten(duplicated)),
    "JSON: cut": (some_json, rewritten(cut_text)),
    "XML: words for numbers": (some_xml, rewritten_xml(without_numbers)),
    "XML: nested 50,000 deep": (some_xml, rewritten_xml(nested_elements)),
    "XML: entities of 10^9 characters": (some_xml, rewritten_xml(exploding)),
    "XML: cut": (some_xml, rewritten_xml(cut_text)),
    "Content-Length too large": (anything, framed(too_long)),
    "Content-Length too small": (anything, framed(too_short)),
    "Content-Length of 23 digits": (anything, framed(bad_length)),
    "broken chunks": (anything, framed(bad_chunks)),
    "2,000 interim replies": (anything, framed(interim_storm)),
    "2,000 headers": (anything, framed(header_flood)),
    "header of 400 KB": (anything, framed(one_huge_header)),
    "no HTTP": (anything, framed(no_http)),
}
