"""The catalogue of faults: what happens to a single call, or to a single connection.

Each fault defines which calls it fits. It does not fit if the provider's reply would be an undetectable lie, such as
"not found" for an existing file that is to be deleted.
"""

import random
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate

from .calls import Answer, Call
from .certificates import Certificates
from .failures import failure
from .mutations import MUTATIONS

HTML = b"<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body><h1>Sign in to the network</h1></body></html>\n"
HTML_HEADERS = [("Content-Type", "text/html; charset=UTF-8")]
STALL_SECONDS = 75.0
OTHER_ORIGIN = "https://collector.example.net/"


def anything(_: Call) -> bool:
    return True


@dataclass
class Fault:
    """A fault of a kind, with its own source of random numbers."""

    kind: str
    seed: int
    fits: Callable[[Call], bool]
    act: Callable
    is_of_connection: bool = False
    # In this case `act` is the kind of fault of a name server.
    is_of_name: bool = False

    def strike(self, call: Call, conversation) -> bool:
        """Performs the fault. False if the connection must be closed afterwards."""
        return bool(self.act(call, conversation, random.Random(self.seed)))

    def context(self, certificates: Certificates) -> ssl.SSLContext | None:
        """The TLS context with which the connection continues; `None` for a reset."""
        return self.act(certificates)


def forged(*arguments, **options):
    """A reply of the provider without any effect."""
    def act(call, conversation, _):
        answer = failure(call, *arguments, **options)
        conversation.send(answer.head() + answer.body)
        return True
    return act


def page(status: int, body: bytes, headers=None, has_effect: bool = False):
    """The page of a proxy or of a captive portal."""
    def act(call, conversation, _):
        if has_effect:
            conversation.forward(call)
        answer = Answer(status, "", headers if headers is not None else HTML_HEADERS, body)
        conversation.send(answer.head() + answer.body)
        return True
    return act


def redirect(status: int):
    def act(_, conversation, __):
        answer = Answer(status, "", [("Location", OTHER_ORIGIN)])
        conversation.send(answer.head())
        return True
    return act


def drop(has_effect: bool):
    def act(call, conversation, _):
        if has_effect:
            conversation.forward(call)
        conversation.drop()
    return act


def lost_with_503(call, conversation, _):
    conversation.forward(call)
    answer = failure(call, 503)
    conversation.send(answer.head() + answer.body)
    return True


def stall(_, conversation, __):
    conversation.secure.settimeout(STALL_SECONDS)
    try:
        conversation.stream.read(1)
    except OSError:
        pass
    return False


def slow(call, conversation, rng):
    """A reply in pieces, with pauses of two seconds in total."""
    answer = conversation.forward(call)
    data = answer.head() + answer.body
    cuts = sorted(rng.randrange(len(data)) for _ in range(3))
    for begin, end in zip([0, *cuts], [*cuts, len(data)]):
        conversation.send(data[begin:end])
        conversation.pause(0.5)
    return True


def truncated(call, conversation, rng):
    """The connection ends before the last byte of the reply."""
    answer = conversation.forward(call)
    data = answer.head() + answer.body
    conversation.send(data[:rng.randrange(1, len(data))])
    return False


def corrupted_download(call, conversation, rng):
    answer = conversation.forward(call)
    if answer.status in (200, 206) and answer.body:
        position = rng.randrange(len(answer.body))
        answer.body = flipped(answer.body, position, rng)
    conversation.send(answer.head() + answer.body)
    return True


def corrupted_upload(call, conversation, rng):
    """After the description at the beginning of a multipart body, and before its end."""
    position = rng.randrange(len(call.body) // 2, len(call.body) * 9 // 10)
    answer = conversation.forward(Call(call.method, call.host, call.target, call.headers,
                                       flipped(call.body, position, rng)))
    conversation.send(answer.head() + answer.body)
    return True


def flipped(data: bytes, position: int, rng: random.Random) -> bytes:
    return data[:position] + bytes([data[position] ^ (1 << rng.randrange(8))]) + data[position + 1:]


def other_content_type(call, conversation, _):
    answer = conversation.forward(call)
    answer.headers = [header for header in answer.headers if header[0].lower() != "content-type"]
    answer.headers.append(("Content-Type", "image/gif"))
    conversation.send(answer.head() + answer.body)
    return True


def revocation(call, conversation, _):
    """The person revokes the app's rights just before the call."""
    conversation.relay.people[call.provider].revoke()
    answer = conversation.forward(call)
    conversation.send(answer.head() + answer.body)
    return True


def has_content(call: Call) -> bool:
    return call.is_upload and len(call.body) > 10_000


def google(call: Call) -> bool:
    return call.provider == "google" and not call.is_for_tokens


def quota(call: Call) -> bool:
    return call.is_upload and call.method in ("POST", "PUT")


def full(call, conversation, rng):
    status, reason = {"google": (403, "storageQuotaExceeded"), "dropbox": (409, "path/insufficient_space"),
                      "microsoft": (507, "quotaLimitReached"), "webdav": (507, None),
                      "s3": (403, "QuotaExceeded")}[call.provider]
    return forged(status, reason)(call, conversation, rng)


def s3(call: Call) -> bool:
    return call.provider == "s3"


def s3_creates(call: Call) -> bool:
    """Creates an object on the condition that it does not exist."""
    return s3(call) and any(name.lower() == "if-none-match" for name, _ in call.headers)


def wrong_clock(call, conversation, _):
    """The service's clock is an hour ahead."""
    answer = failure(call, 403, "RequestTimeTooSkewed")
    answer.headers = [header for header in answer.headers if header[0] != "Date"]
    answer.headers.append(("Date", formatdate(time.time() + 3600, usegmt=True)))
    conversation.send(answer.head() + answer.body)
    return True


def error_after_200(has_effect: bool):
    """Amazon begins the reply before the parts are assembled, and may end it with an error."""
    def act(call, conversation, _):
        if has_effect:
            conversation.forward(call)
        answer = failure(call, 500)
        answer.status, answer.reason = 200, "OK"
        conversation.send(answer.head() + answer.body)
        return True
    return act


def without_tag(call, conversation, _):
    answer = conversation.forward(call)
    answer.headers = [header for header in answer.headers if header[0].lower() != "etag"]
    conversation.send(answer.head() + (b"" if call.method == "HEAD" else answer.body))
    return True


def reading(call: Call) -> bool:
    return call.is_download


def has_session_of_status(call: Call) -> bool:
    return call.is_of_session and call.provider not in ("dropbox", "s3")


def has_reply(call: Call) -> bool:
    """The server reads part of the reply. The reply to a move has no body, so any success counts."""
    return call.method != "MOVE"


def has_body(call: Call) -> bool:
    """The reply to a deletion has no body either; only OneDrive's has a specific status."""
    return has_reply(call) and (call.method != "DELETE" or call.provider == "microsoft")


def not_an_exchange(call: Call) -> bool:
    """A code is sent again after 503, which means that it was not used (RFC 9110, section 15.6.4)."""
    return b"grant_type=authorization_code" not in call.body


# Kind -> the calls that it fits, and its effect.
CALL_KINDS: dict[str, tuple] = {
    "500": (anything, forged(500)),
    "502": (anything, forged(502)),
    "503": (anything, forged(503)),
    "503 with Retry-After": (anything, forged(503, retry_after=1)),
    "504": (anything, forged(504)),
    "429": (anything, forged(429)),
    "429 with Retry-After": (anything, forged(429, retry_after=1)),
    "429 for an hour": (anything, forged(429, retry_after=3_600)),
    "429 as text": (lambda call: call.provider == "dropbox", forged(429, retry_after=1, is_text=True)),
    "403 userRateLimitExceeded": (google, forged(403, "userRateLimitExceeded")),
    "403 rateLimitExceeded": (google, forged(403, "rateLimitExceeded")),
    "401": (lambda call: not call.is_for_tokens and not call.proves_password and not s3(call), forged(401)),
    "grant revoked": (lambda call: call.renews, forged(400)),
    "account revoked": (anything, revocation),
    "no connection": (anything, drop(False)),
    "reply lost": (anything, drop(True)),
    "503 although it worked": (not_an_exchange, lost_with_503),
    "reply cut": (anything, truncated),
    "slow reply": (anything, slow),
    "no reply": (anything, stall),
    "corrupted upload": (has_content, corrupted_upload),
    "corrupted download": (reading, corrupted_download),
    "session unknown (404)": (has_session_of_status, forged(404)),
    "session unknown (410)": (has_session_of_status, forged(410)),
    "session unknown": (lambda call: call.is_of_session and call.provider == "dropbox",
                        lambda call, conversation, rng: forged(
                            409, "not_found" if "append" in call.path else "lookup_failed/not_found"
                        )(call, conversation, rng)),
    "storage full": (quota, full),
    "403 InvalidAccessKeyId": (s3, forged(403, "InvalidAccessKeyId")),
    "403 SignatureDoesNotMatch": (s3, forged(403, "SignatureDoesNotMatch")),
    "400 ExpiredToken": (s3, forged(400, "ExpiredToken")),
    "403 RequestTimeTooSkewed": (s3, forged(403, "RequestTimeTooSkewed")),
    "403 RequestTimeTooSkewed, an hour": (s3, wrong_clock),
    "301 PermanentRedirect": (s3, forged(301, "PermanentRedirect")),
    "400 AuthorizationHeaderMalformed": (s3, forged(400, "AuthorizationHeaderMalformed")),
    "403 AccessDenied": (s3, forged(403, "AccessDenied")),
    "404 NoSuchBucket": (s3, forged(404, "NoSuchBucket")),
    "404 NoSuchUpload": (lambda call: s3(call) and call.is_of_session, forged(404, "NoSuchUpload")),
    "400 RequestTimeout": (s3, forged(400, "RequestTimeout")),
    "409 OperationAborted": (s3, forged(409, "OperationAborted")),
    "409 ConditionalRequestConflict": (s3_creates, forged(409, "ConditionalRequestConflict")),
    "412 PreconditionFailed": (s3_creates, forged(412)),
    "400 BadDigest": (lambda call: s3(call) and has_content(call), forged(400, "BadDigest")),
    "200 with an error": (lambda call: call.completes_parts, error_after_200(False)),
    "200 with an error although it worked": (lambda call: call.completes_parts, error_after_200(True)),
    "no ETag": (lambda call: s3(call) and call.method in ("GET", "PUT"), without_tag),
    "HTML with 404": (s3, page(404, HTML)),
    "HTML with 200": (has_reply, page(200, HTML)),
    "HTML with 200 although it worked": (anything, page(200, HTML, has_effect=True)),
    "HTML with 502": (anything, page(502, HTML)),
    "empty reply with 200": (has_body, page(200, b"", [])),
    "other content type": (anything, other_content_type),
    "redirect (302)": (anything, redirect(302)),
    "redirect (307)": (anything, redirect(307)),
} | {name: (fits, act) for name, (fits, act) in MUTATIONS.items()}

CONNECTION_KINDS: dict[str, Callable] = {
    "reset in the handshake": lambda certificates: None,
    "certificate of another name": lambda certificates: certificates.wrong_name,
    "expired certificate": lambda certificates: certificates.expired,
    "unknown authority": lambda certificates: certificates.untrusted,
}

# The name is looked up for each connection; the values are the faults of the name server (syncstack/name_server.py).
NAME_KINDS: dict[str, str] = {
    "name not found": "nxdomain",
    "name without address": "empty",
    "name server fails": "servfail",
    "name server does not answer": "silent",
}

KINDS = [*CALL_KINDS, *CONNECTION_KINDS, *NAME_KINDS]
# Replies that mean that the call was not carried out: a code that received one may be sent again.
REFUSALS = ("429", "503", "redirect")
# Too slow for a sample: the server waits as long as its deadlines allow.
SLOW_KINDS = {"no reply", "name server does not answer"}


def fault(kind: str, seed: int) -> Fault:
    if kind in NAME_KINDS:
        return Fault(kind, seed, anything, NAME_KINDS[kind], is_of_connection=True, is_of_name=True)
    if kind in CONNECTION_KINDS:
        return Fault(kind, seed, anything, CONNECTION_KINDS[kind], is_of_connection=True)
    fits, act = CALL_KINDS[kind]
    return Fault(kind, seed, fits, act)
