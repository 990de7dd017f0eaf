#!/usr/bin/env bash
# Expected: a multipart body that ends before its last delimiter, "--boundary--", is an error (RFC 2046, section 5.1.1: the
# delimiter after the last part marks the end), so that nobody mistakes a part of a file for all of it.
# Happens: werkzeug, multipart and aiohttp raise an error. Django and Starlette return an empty form, as if nothing had been sent,
# without an error; requests-toolbelt, which decodes batch replies, returns the first half of the file as the file.
# Version: Werkzeug 3.1.9, multipart 2.0.1, aiohttp 3.14.5, Django 5.2.19, Starlette 1.10.0 with python-multipart 0.0.34,
# requests-toolbelt 1.0.0 (PyPI).
# Matters: a sender that dies while it produces a body, behind a proxy that completes the request, leaves a shorter file or none,
# and gets the reply of a success.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check Werkzeug==3.1.9 multipart==2.0.1 aiohttp==3.14.5 \
    Django==5.2.19 starlette==1.10.0 python-multipart==0.0.34 requests-toolbelt==1.0.0

cat >"$folder/try.py" <<'PY'
import asyncio, io
from unittest.mock import Mock
import aiohttp, django.conf, multipart
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.http.multipartparser import MultiPartParser as DjangoParser
from requests_toolbelt import MultipartDecoder
from starlette.requests import Request
from werkzeug.formparser import MultiPartParser as WerkzeugParser

TYPE = "multipart/form-data; boundary=X"
WHOLE = b'--X\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabcdef\r\n--X--\r\n'
CUT = WHOLE[:WHOLE.index(b"def")]
django.conf.settings.configure()

def with_werkzeug(body):
    return [file.read() for file in WerkzeugParser().parse(io.BytesIO(body), b"X", len(body))[1].values()]

def with_multipart(body):
    return [part.raw for part in multipart.MultipartParser(io.BytesIO(body), "X", len(body))]

def with_aiohttp(body):
    async def read():
        stream = aiohttp.StreamReader(Mock(_reading_paused=False), 2 ** 16, loop=asyncio.get_running_loop())
        stream.feed_data(body)
        stream.feed_eof()
        return [bytes(await part.read()) async for part in aiohttp.MultipartReader({"Content-Type": TYPE}, stream)]
    return asyncio.run(read())

def with_django(body):
    head = {"CONTENT_TYPE": TYPE, "CONTENT_LENGTH": str(len(body))}
    return [file.read() for file in DjangoParser(head, io.BytesIO(body), [MemoryFileUploadHandler()]).parse()[1].values()]

def with_starlette(body):
    async def receive(): return {"type": "http.request", "body": body, "more_body": False}
    async def read():
        scope = {"type": "http", "method": "POST", "headers": [(b"content-type", TYPE.encode())]}
        return [await file.read() for file in (await Request(scope, receive).form()).values()]
    return asyncio.run(read())

def with_toolbelt(body):
    return [part.content for part in MultipartDecoder(body, TYPE).parts]

seen = {}
for client in with_werkzeug, with_multipart, with_aiohttp, with_django, with_starlette, with_toolbelt:
    name = client.__name__.removeprefix("with_")
    assert client(WHOLE) == [b"abcdef"], name
    try: seen[name] = client(CUT)
    except ValueError as error: seen[name] = "error"
    print(f"{name:10} {seen[name]}")
assert seen == {
    "werkzeug": "error", "multipart": "error", "aiohttp": "error", "django": [], "starlette": [], "toolbelt": [b"abc"],
}
PY
"$folder/venv/bin/python" "$folder/try.py"
