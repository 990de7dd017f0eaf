"""Checks the sandbox's Dropbox with Dropbox's official Python client, unmodified.

The client reads its hosts from the environment when it is loaded; a proxy redirects the production names to the
sandbox. Exit status 0 if the sandbox behaves like Dropbox; otherwise 1, and a line per failure.
"""

import hashlib
import json
import os

from connect_proxy import ConnectProxy
from sandbox import CA, PORT, broken_rules, check, contents, control, put_file, random_bytes, run

import dropbox  # noqa: E402
import requests  # noqa: E402
from dropbox import exceptions, files, oauth  # noqa: E402

KEY = "sandboxdropboxkey"
SECRET = "sandbox-dropbox-secret"
BLOCK = 4 << 20


def content_hash(data):
    blocks = [hashlib.sha256(data[start:start + BLOCK]).digest() for start in range(0, len(data), BLOCK)]
    return hashlib.sha256(b"".join(blocks)).hexdigest()


def tag_of(action):
    """The tags of the route error that `action` raises; empty if it succeeds."""
    try:
        action()
        return ""
    except exceptions.ApiError as error:
        value, tags = error.error, []
        while hasattr(value, "_tag"):
            tags.append(value._tag)
            value = getattr(value, "_value", None)
            value = getattr(value, "reason", value)
        return "/".join(tags)


def verify(entry, data, what):
    check(entry.size == len(data), f"{what}: size")
    check(entry.content_hash == content_hash(data), f"{what}: content hash")


def in_session(client, path, data, chunk):
    """Uploads as in the documentation; returns the result of the finish."""
    start = client.files_upload_session_start(data[:chunk], content_hash=content_hash(data[:chunk]))
    cursor = files.UploadSessionCursor(start.session_id, min(chunk, len(data)))
    while len(data) - cursor.offset > chunk:
        part = data[cursor.offset:cursor.offset + chunk]
        client.files_upload_session_append_v2(part, cursor, content_hash=content_hash(part))
        cursor.offset += len(part)
    rest = data[cursor.offset:]
    return client.files_upload_session_finish(
        rest, cursor, files.CommitInfo(path, mute=True), content_hash=content_hash(rest))


def check_people(client, account):
    me = client.users_get_current_account()
    check(me.account_id == account["id"] and me.name.display_name == account["name"],
          "the token's own account is returned")
    check(client.check_user("plumbing").result == "plumbing", "check/user answers with the question")
    usage = client.users_get_space_usage()
    check(usage.used == 0 and usage.allocation.is_individual(), "a new storage is empty and belongs to one person")
    other = control("POST", "/sandbox/accounts", {"provider": "dropbox", "name": "Somebody Else"})
    check(client.users_get_account(other["id"]).account_id == other["id"],
          "get_account works for any account with any token, so it proves nothing")


def check_files(client, account):
    small = random_bytes(70_000, 1)
    stored = client.files_upload(small, "/ünï \"quoted\" 😀.jpg", content_hash=content_hash(small))
    verify(stored, small, "a whole upload")
    check(contents(account, "ünï \"quoted\" 😀.jpg") == small, "the owner has exactly these bytes")
    again = client.files_upload(small, "/ÜNÏ \"QUOTED\" 😀.jpg")
    check(again.id == stored.id and again.rev == stored.rev, "equal contents at the path, in any case, change nothing")
    check(tag_of(lambda: client.files_upload(b"other", stored.path_display)) == "path/conflict/file",
          "different contents at the path are a conflict")
    check(tag_of(lambda: client.files_upload(small, stored.path_display, strict_conflict=True))
          == "path/conflict/file", "a strict upload conflicts even with equal contents")
    renamed = client.files_upload(b"other", stored.path_display, autorename=True)
    check(renamed.name == "ünï \"quoted\" 😀 (1).jpg", "autorename chooses an unused name")
    update = client.files_upload(b"newer", renamed.path_display, files.WriteMode.update(renamed.rev))
    check(update.id == renamed.id and update.rev != renamed.rev, "an update by revision keeps the id")
    check(tag_of(lambda: client.files_upload(b"late", renamed.path_display, files.WriteMode.update(renamed.rev)))
          == "path/conflict/file", "an update of an old revision conflicts")
    check(tag_of(lambda: client.files_upload(b"x", "/wrong.bin", content_hash=content_hash(b"y")))
          == "content_hash_mismatch", "bytes with another hash are rejected")
    check(contents(account, "wrong.bin") is None, "rejected bytes are not stored")
    check(tag_of(lambda: client.files_upload(b"x", "/back\\slash")) == "path/malformed_path",
          "names with a backslash are rejected")
    check(tag_of(lambda: client.files_upload(b"x", stored.path_display + "/below")) == "path/conflict/file_ancestor",
          "a file cannot contain other files")

    large = random_bytes(9_000_001, 2)
    picture = in_session(client, "/Folder/large.jpg", large, BLOCK)
    verify(picture, large, "an upload session")
    check(client.files_get_metadata("/folder").path_display == "/Folder", "parent folders are created with a file")
    verify(in_session(client, "/empty", b"", BLOCK), b"", "an empty session")

    metadata, reply = client.files_download(picture.id)
    check(reply.content == large and metadata.id == picture.id, "a download by id returns the metadata in a header")
    _, reply = client.files_download(stored.path_lower)
    check(reply.content == small, "a download by path returns the bytes")
    moved = client.files_move_v2(picture.id, "/Elsewhere/renamed.jpg").metadata
    check(moved.id == picture.id and client.files_get_metadata(picture.id).name == "renamed.jpg",
          "a moved file keeps its id")
    check(tag_of(lambda: client.files_get_metadata("/Folder/large.jpg")) == "path/not_found",
          "a moved file is no longer at its former path")

    found, page = [], client.files_list_folder("", recursive=True, limit=2)
    while True:
        found += [entry.path_display for entry in page.entries]
        if not page.has_more:
            break
        page = client.files_list_folder_continue(page.cursor)
    check(sorted(found) == sorted([
        "/Elsewhere", "/Elsewhere/renamed.jpg", "/Folder", "/empty", stored.path_display, renamed.path_display]),
        "a paged listing returns each entry once")
    check(client.users_get_space_usage().used == len(small) + len(b"newer") + len(large), "the usage counts bytes")

    client.files_delete_v2(picture.id)
    check(tag_of(lambda: client.files_delete_v2(picture.id)) == "path_lookup/not_found", "a deletion works once")
    job = client.files_delete_batch([files.DeleteArg("/empty"), files.DeleteArg("/never there")])
    polls = 0
    while True:
        status = client.files_delete_batch_check(job.get_async_job_id())
        polls += 1
        if status.is_complete():
            break
    entries = status.get_complete().entries
    check(polls <= 3 and [entry.is_success() for entry in entries] == [True, False],
          "a batch of deletions reports each outcome after some polls")
    client.files_create_folder_v2("/New")
    check(tag_of(lambda: client.files_create_folder_v2("/NEW")) == "path/conflict/folder",
          "a folder can be created once")
    mine = put_file(account, "mine.txt", b"from the owner")
    check(client.files_get_metadata("/mine.txt").id == mine["id"], "the owner's own files are visible")


def check_sessions(client):
    data = random_bytes(100_000, 3)
    start = client.files_upload_session_start(data)
    cursor = files.UploadSessionCursor(start.session_id, 50_000)
    try:
        client.files_upload_session_append_v2(b"x", cursor)
        check(False, "a wrong offset is rejected")
    except exceptions.ApiError as error:
        check(error.error.is_incorrect_offset()
              and error.error.get_incorrect_offset().correct_offset == len(data),
              "a wrong offset is rejected, and the right one is returned")
    cursor.offset = len(data)
    client.files_upload(b"in the way", "/taken")
    check(tag_of(lambda: client.files_upload_session_finish(b"tail", cursor, files.CommitInfo("/taken")))
          == "path/conflict/file", "a finish conflicts like an upload")
    cursor.offset += 4
    entry = client.files_upload_session_finish(b"", cursor, files.CommitInfo("/free"))
    verify(entry, data + b"tail", "a second finish, without bytes, uses the first one's bytes")
    check(tag_of(lambda: client.files_upload_session_finish(b"", cursor, files.CommitInfo("/again")))
          == "lookup_failed/not_found", "a finished session does not exist any longer")
    closed = client.files_upload_session_start(b"abc", close=True)
    check(tag_of(lambda: client.files_upload_session_append_v2(
        b"d", files.UploadSessionCursor(closed.session_id, 3))) == "closed", "a closed session accepts no more bytes")
    batch = client.files_upload_session_finish_batch_v2([
        files.UploadSessionFinishArg(files.UploadSessionCursor(closed.session_id, 3), files.CommitInfo("/batch")),
        files.UploadSessionFinishArg(files.UploadSessionCursor("unknown", 3), files.CommitInfo("/none"))])
    check([entry.is_success() for entry in batch.entries] == [True, False], "a batch of finishes reports each outcome")
    expired = client.files_upload_session_start(b"abc")
    control("POST", "/sandbox/clock", {"offsetSeconds": 8 * 86_400})
    check(tag_of(lambda: client.files_upload_session_append_v2(
        b"d", files.UploadSessionCursor(expired.session_id, 3))) == "not_found", "a session expires after seven days")
    control("POST", "/sandbox/clock", {"offsetSeconds": 0})


def check_tokens(account, client):
    control("POST", "/sandbox/clock", {"offsetSeconds": 14_300})
    check(client.users_get_current_account().account_id == account["id"], "an access token is valid for four hours")
    bare = dropbox.Dropbox(account["accessToken"], ca_certs=CA)
    control("POST", "/sandbox/clock", {"offsetSeconds": 14_500})
    try:
        bare.users_get_current_account()
        check(False, "it expires after that")
    except exceptions.AuthError as error:
        check(error.error.is_expired_access_token(), "it expires after that: expired_access_token")
    check(client.users_get_current_account().account_id == account["id"], "the client refreshes it automatically")
    control("POST", "/sandbox/clock", {"offsetSeconds": 0})

    control("POST", "/sandbox/faults", {"host": "api.dropboxapi.com", "status": 429, "times": 1})
    check(client.check_user("x").result == "x", "the client recognises Dropbox's rate limit, and waits")
    narrow = control("POST", "/sandbox/accounts", {
        "provider": "dropbox", "name": "Narrow", "scopes": ["account_info.read"]})
    try:
        dropbox.Dropbox(narrow["accessToken"], ca_certs=CA).files_list_folder("")
        check(False, "a missing scope is reported")
    except exceptions.AuthError as error:
        check(error.error.get_missing_scope().required_scope == "files.metadata.read", "a missing scope is reported")
    full = control("POST", "/sandbox/accounts", {"provider": "dropbox", "name": "Full", "quotaBytes": 1_000})
    check(tag_of(lambda: dropbox.Dropbox(full["accessToken"], ca_certs=CA).files_upload(b"x" * 1_001, "/big"))
          == "path/insufficient_space", "a full storage is reported")


def check_codes(account):
    """Runs the client's own OAuth flow, with and without PKCE."""
    flow = oauth.DropboxOAuth2FlowNoRedirect(
        KEY, consumer_secret=SECRET, token_access_type="offline", ca_certs=CA)
    flow.start()
    code = control("POST", f"/sandbox/accounts/{account['id']}/new-authorization-code", {})["authorizationCode"]
    result = flow.finish(code)
    check(result.account_id == account["id"] and result.refresh_token, "a code is exchanged for a refresh token")
    try:
        flow.finish(code)
        check(False, "a code works once")
    except requests.exceptions.HTTPError as error:
        check(error.response.json()["error"] == "invalid_grant", "a code works once: invalid_grant")
    flow = oauth.DropboxOAuth2FlowNoRedirect(KEY, use_pkce=True, token_access_type="offline", ca_certs=CA)
    flow.start()
    code = control("POST", f"/sandbox/accounts/{account['id']}/new-authorization-code",
                   {"codeVerifier": flow.code_verifier})["authorizationCode"]
    result = flow.finish(code)
    check(dropbox.Dropbox(result.access_token, ca_certs=CA).users_get_current_account().account_id == account["id"],
          "a code with PKCE needs no secret")


def check_rules(account):
    """Requests that the client never makes, sent directly to the server."""
    headers = {"Authorization": "Bearer " + account["accessToken"]}
    download = "https://content.dropboxapi.com/2/files/download"
    argument = {"Dropbox-API-Arg": json.dumps({"path": "/free"})}
    form = requests.post(download, data={"a": "b"}, headers={**headers, **argument}, verify=CA)
    check(form.status_code == 400 and "Content-Type" in form.text, "a download with a form is rejected in plain text")
    wrong = requests.post("https://content.dropboxapi.com/2/files/get_metadata", json={"path": "/free"},
                          headers=headers, verify=CA)
    check(wrong.status_code >= 400, "a route at the wrong host is rejected")
    part = requests.post(download, headers={**headers, **argument, "Range": "bytes=10-19"}, verify=CA)
    check(part.status_code == 206 and part.content == random_bytes(100_000, 3)[10:20], "a range of a file is returned")
    summaries = {requests.post("https://api.dropboxapi.com/2/files/get_metadata", json={"path": "/none"},
                               headers=headers, verify=CA).json()["error_summary"] for _ in range(12)}
    check(len(summaries) > 1 and all(text.startswith("path/not_found/") for text in summaries),
          "error summaries end in random characters")


def main():
    account = control("POST", "/sandbox/accounts", {"provider": "dropbox", "name": "Alice Oracle"})
    with ConnectProxy(PORT) as proxy:
        os.environ["HTTPS_PROXY"] = proxy.url
        client = dropbox.Dropbox(oauth2_refresh_token=account["refreshToken"], app_key=KEY, app_secret=SECRET,
                                 ca_certs=CA, max_retries_on_error=0)
        check_people(client, account)
        check_files(client, account)
        check_sessions(client)
        check_tokens(account, client)
        check_codes(account)
        rules = broken_rules()
        check(set(rules) == {"code-reused"},
              f"Dropbox's own client breaks only the rule that it was made to break: {rules}")
        check_rules(account)
        check(sorted(set(broken_rules()) - {"code-reused"}) == ["content-type", "wrong-host"],
              "requests that break the other rules are detected")
        check(proxy.hosts == {"api.dropboxapi.com", "content.dropboxapi.com"},
              f"the client asked Dropbox's production hosts: {proxy.hosts}")
        client.auth_token_revoke()
        try:
            client.refresh_access_token()
            check(False, "a revoked grant cannot be refreshed")
        except exceptions.AuthError as error:
            check(error.error.is_invalid_access_token(), "a revoked grant cannot be refreshed")


run(main)
