#!/usr/bin/python3
"""Verifies and signs tokens with PyJWT, another implementation.

usage: pyjwt_judge.py FILE

FILE is a JSON object: `keys` (RFC 7517), `tokens` to be verified with them by RS256 or ES256, `sign` with the members `pem`,
`alg`, `kid` and `claims`. Prints one with `payloads`, null for what is refused, and `signed`.
"""

import json
import sys
from pathlib import Path

import jwt

ALGORITHMS = ["RS256", "ES256"]
# The claims are not its business here: only who signed.
OPTIONS = {"verify_exp": False, "verify_aud": False}


def payload(token: str, keys: list[dict]) -> dict | None:
    """The payload of a token if it is signed by the published key that it names."""
    try:
        name = jwt.get_unverified_header(token)["kid"]
        key = next(key for key in keys if key["kid"] == name)
        return jwt.decode(token, jwt.PyJWK(key).key, algorithms=[key["alg"]], options=OPTIONS)
    except (jwt.PyJWTError, KeyError, StopIteration):
        return None


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    keys = [key for key in request["keys"] if key["alg"] in ALGORITHMS]
    print(json.dumps({
        "payloads": [payload(token, keys) for token in request["tokens"]],
        "signed": [jwt.encode(item["claims"], item["pem"], algorithm=item["alg"], headers={"kid": item["kid"]})
                   for item in request["sign"]],
    }))


if __name__ == "__main__":
    main()
