"""Errors in each provider's format, as documented."""

import json
from email.utils import formatdate

from .calls import Answer, Call

REASONS = {
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 409: "Conflict", 410: "Gone",
    412: "Precondition Failed",
    429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable",
    504: "Gateway Timeout", 507: "Insufficient Storage",
}
GOOGLE = {
    401: "authError", 404: "notFound", 410: "notFound", 429: "rateLimitExceeded", 500: "internalError",
}
GRAPH = {
    401: "InvalidAuthenticationToken", 404: "itemNotFound", 410: "itemNotFound", 429: "activityLimitReached",
    503: "serviceNotAvailable", 507: "insufficientStorage",
}
S3 = {
    400: "InvalidRequest", 401: "Unauthorized", 403: "AccessDenied", 404: "NoSuchKey", 409: "OperationAborted",
    412: "PreconditionFailed", 429: "TooManyRequests", 500: "InternalError", 503: "SlowDown",
}
DAV = {401: "NotAuthenticated", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 507: "InsufficientStorage"}


def dav_failure(call: Call, status: int, headers: list[tuple[str, str]]) -> Answer:
    """In the format of sabre/dav, or of Nextcloud's other services."""
    if status == 401:
        headers = [*headers, ("WWW-Authenticate", 'Basic realm="Nextcloud", charset="UTF-8"')]
    if call.path.startswith("/ocs/"):
        value = {"ocs": {"meta": {"status": "failure", "statuscode": status, "message": "Fault"}, "data": []}}
        return Answer(status, REASONS[status], [*headers, ("Content-Type", "application/json; charset=utf-8")],
                      json.dumps(value).encode())
    text = (f'<?xml version="1.0" encoding="utf-8"?>\n<d:error xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns">\n'
            f"  <s:exception>Sabre\\DAV\\Exception\\{DAV.get(status, 'ServiceUnavailable')}</s:exception>\n"
            "  <s:message>Fault</s:message>\n</d:error>\n")
    return Answer(status, REASONS[status], [*headers, ("Content-Type", "application/xml; charset=utf-8")], text.encode())


def s3_failure(call: Call, status: int, code: str | None, headers: list[tuple[str, str]]) -> Answer:
    """In the format of "Error responses" of Amazon S3; HEAD has no body."""
    code = code or S3.get(status, "InternalError")
    region = "<Region>eu-central-1</Region>" if code == "AuthorizationHeaderMalformed" else ""
    if status == 301:
        headers = [*headers, ("x-amz-bucket-region", "eu-central-1")]
    text = (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>Fault</Message>{region}'
            "<RequestId>4442587FB7D0A2F9</RequestId></Error>")
    return Answer(status, REASONS.get(status, "Moved Permanently"),
                  [*headers, ("Content-Type", "application/xml"), ("Date", formatdate(usegmt=True))],
                  b"" if call.method == "HEAD" else text.encode())


def failure(call: Call, status: int, reason: str | None = None, retry_after: int | None = None,
            is_text: bool = False) -> Answer:
    """The provider's reply to the call, with this status."""
    headers = [("Retry-After", str(retry_after))] if retry_after is not None else []
    if call.provider == "s3":
        return s3_failure(call, status, reason, headers)
    if call.provider == "webdav":
        return dav_failure(call, status, headers)
    if call.is_for_tokens:
        value = {"error": reason or ("invalid_grant" if status == 400 else "temporarily_unavailable"),
                 "error_description": "Fault"}
        if call.provider == "microsoft" and status == 400:
            value |= {"error_description": "AADSTS50173: The provided grant has expired due to it being revoked.",
                      "error_codes": [50173]}
    elif call.provider == "google":
        name = reason or GOOGLE.get(status, "backendError")
        value = {"error": {"code": status, "message": "Fault",
                           "errors": [{"domain": "global", "reason": name, "message": "Fault"}]}}
    elif call.provider == "dropbox":
        if is_text or status in (500, 502, 503, 504):
            return Answer(status, REASONS[status], [*headers, ("Content-Type", "text/plain")], b"Fault")
        tags = (reason or {401: "expired_access_token", 429: "too_many_requests", 409: "other"}.get(status, "other"))
        error: dict = {}
        for tag in reversed(tags.split("/")):
            error = {".tag": tag, **({tag: error} if error else {})}
        if call.path == "/2/files/upload" and "path" in error:
            error = {".tag": "path", "reason": error["path"]}
        if status == 429:
            error = {"reason": {".tag": "too_many_requests"}, "retry_after": retry_after or 1}
        value = {"error_summary": f"{tags}/..", "error": error}
    else:
        value = {"error": {"code": reason or GRAPH.get(status, "generalException"), "message": "Fault",
                           "innerError": {"request-id": "fault"}}}
    return Answer(status, REASONS[status], [*headers, ("Content-Type", "application/json; charset=utf-8")],
                  json.dumps(value).encode())
