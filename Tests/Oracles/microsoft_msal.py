"""Checks the sandbox's Microsoft sign-in with Microsoft's own library, and its id tokens with PyJWT."""

import os
import socket

from sandbox import CA, PORT, broken_rules, check, control, run

os.environ["REQUESTS_CA_BUNDLE"] = CA
_resolve = socket.getaddrinfo
socket.getaddrinfo = lambda host, port, *rest, **named: _resolve(
    "127.0.0.1", PORT, *rest, **named) if port in (443, "443", "https") else _resolve(host, port, *rest, **named)

import jwt  # noqa: E402
import msal  # noqa: E402
import requests  # noqa: E402

CLIENT = "5a0d31c6-0b7e-4f5d-9c1e-2f6a7b8c9d0e"
SECRET = "sandbox~microsoft+secret/="
AUTHORITY = "https://login.microsoftonline.com/common"
SCOPES = ["https://graph.microsoft.com/User.Read", "https://graph.microsoft.com/Files.ReadWrite.AppFolder"]


def graph(token, path="/me"):
    return requests.get("https://graph.microsoft.com/v1.0" + path, headers={"Authorization": "Bearer " + token},
                        timeout=30)


def keys():
    return requests.get(AUTHORITY + "/discovery/v2.0/keys", timeout=30).json()["keys"]


def decoded(token):
    """The claims of an id token, after checking its signature, audience and times."""
    by_id = {key["kid"]: jwt.PyJWK(key, algorithm="RS256") for key in keys()}
    key = by_id[jwt.get_unverified_header(token)["kid"]]
    return jwt.decode(token, key.key, algorithms=["RS256"], audience=CLIENT)


def main():
    account = control("POST", "/sandbox/accounts", {"provider": "microsoft", "name": "Maria Msal"})
    id_token, api_token = account["idToken"], account["apiToken"]
    claims = decoded(id_token)
    check(claims["iss"] == f"https://login.microsoftonline.com/{claims['tid']}/v2.0", "the issuer names the tenant")
    check(claims["oid"].replace("-", "").lstrip("0") == account["id"], "oid is Graph's id, padded with zeros")

    app = msal.ConfidentialClientApplication(
        CLIENT, client_credential=SECRET, authority=AUTHORITY, instance_discovery=False)
    tokens = app.acquire_token_by_authorization_code(
        account["authorizationCode"], SCOPES, redirect_uri="msauth://app")
    check("access_token" in tokens and "refresh_token" in tokens,
          f"a code is exchanged for tokens {tokens.get('error', '')}")
    check(graph(tokens["access_token"]).json()["id"] == account["id"], "Graph knows the access token's owner")
    check(tokens["id_token_claims"]["name"] == "Maria Msal", "an id token is returned as well")
    again = app.acquire_token_by_authorization_code(
        account["authorizationCode"], SCOPES, redirect_uri="msauth://app")
    check(again.get("error") == "invalid_grant", "a code works once")

    other = msal.ConfidentialClientApplication(
        CLIENT, client_credential=SECRET, authority=AUTHORITY, instance_discovery=False)
    refused = other.acquire_token_on_behalf_of(id_token, SCOPES)
    check(240002 in refused.get("error_codes", []), "on behalf of: an id token is not an assertion")
    check(decoded(api_token)["scp"] == "access_as_user", "the access token for our own API is signed and has a scope")
    behalf = other.acquire_token_on_behalf_of(api_token, SCOPES)
    check("access_token" in behalf, f"it is exchanged for tokens {behalf.get('error_description', '')}")
    check(graph(behalf["access_token"], "/me/drive/special/approot").status_code == 200,
          "these tokens give access to the files")
    opaque = other.acquire_token_on_behalf_of(account["accessToken"], SCOPES)
    check(50027 in opaque.get("error_codes", []), "an opaque access token is not an assertion")

    first = behalf.get("refresh_token") or tokens["refresh_token"]
    second = app.acquire_token_by_refresh_token(first, SCOPES)
    check("access_token" in second and second["refresh_token"] != first, "each refresh returns a new refresh token")
    third = app.acquire_token_by_refresh_token(first, SCOPES)
    check("access_token" in third, "the previous one remains valid until the new one is used")
    fourth = app.acquire_token_by_refresh_token(third["refresh_token"], SCOPES)
    check("access_token" in fourth, "the new one works")
    check(app.acquire_token_by_refresh_token(first, SCOPES).get("error") == "invalid_grant",
          "using the new one invalidates the old one")

    wrong = msal.ConfidentialClientApplication(
        CLIENT, client_credential="wrong", authority=AUTHORITY, instance_discovery=False)
    check(7000215 in wrong.acquire_token_by_refresh_token(first, SCOPES).get("error_codes", []),
          "a wrong secret is rejected with Microsoft's error")

    control("POST", "/sandbox/settings", {"microsoftKeyGeneration": 1})
    check(len(keys()) == 2 and decoded(id_token)["oid"] == claims["oid"], "old tokens remain valid after a key change")
    fresh = control("POST", "/sandbox/accounts", {"provider": "microsoft", "name": "New Key"})
    check(decoded(fresh["idToken"])["name"] == "New Key", "new tokens are signed with the new key")

    control("POST", f"/sandbox/accounts/{account['id']}/revoke", {})
    check(app.acquire_token_by_refresh_token(fourth["refresh_token"], SCOPES).get("error") == "invalid_grant",
          "a revoked grant is not refreshed")
    rules = set(broken_rules())
    check(rules == {"code-reused", "assertion", "client-secret"}, f"only deliberate violations are recorded: {rules}")


run(main)
