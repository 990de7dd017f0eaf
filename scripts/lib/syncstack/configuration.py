"""The configuration file of the stack's syncd and the secrets it names."""

import base64
import json
import secrets
import subprocess

from . import database
from .layout import Layout, write

# What the sandbox has registered for "our app"; no secrets, since the sandbox is not reachable from outside.
GOOGLE_CLIENT_ID = "1234567890-server.apps.googleusercontent.com"
GOOGLE_IOS_CLIENT_ID = "1234567890-ios.apps.googleusercontent.com"
FACEBOOK_CLIENT_ID = "123456789012345"
APP_SECRETS = {"google-client-secret": "sandbox-google-secret", "facebook-client-secret": "sandbox-facebook-secret"}
APPLE = {"clientId": "com.example.sandbox", "teamId": "SANDBOX123", "keyId": "SANDBOXKEY"}

WARNING_FILE = (
    "The files in this folder belong to an app that keeps them in step on all your devices.\n"
    "Please do not change, rename or delete them here: use the app.\n"
)


def prepare(layout: Layout, sandbox_port: int) -> str:
    """Writes the file, and secrets that are missing; returns its text.

    Members of DIR/syncd-overrides.json, if there is such a file, replace those of the same name.
    """
    sealing_key = layout.secret("sealing-key")
    if not sealing_key.exists():
        write(sealing_key, base64.b64encode(secrets.token_bytes(32)).decode() + "\n")
    for name, value in APP_SECRETS.items():
        write(layout.secret(name), value + "\n")
    # The sandbox reads the same file: it stands for the key that Apple hands out.
    apple_key = layout.sandbox / "apple-client-key.pem"
    if not apple_key.exists():
        subprocess.run(
            ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", str(apple_key)],
            check=True, capture_output=True)
    values = {
        "database": {
            "socket": str(layout.database_socket),
            "name": database.NAME,
            "user": database.USER,
            "passwordFile": str(layout.secret("database-password")),
        },
        "sealing": {"keyFile": str(sealing_key)},
        "allowedSignInTypes": {"Google": True, "Facebook": True, "AppleSignIn": True},
        "GoogleServerClientId": GOOGLE_CLIENT_ID,
        "GoogleServerClientSecretFile": str(layout.secret("google-client-secret")),
        "googleClientIds": [GOOGLE_IOS_CLIENT_ID],
        "FacebookClientId": FACEBOOK_CLIENT_ID,
        "FacebookClientSecretFile": str(layout.secret("facebook-client-secret")),
        "appleSignIn": APPLE | {"privateKeyFile": str(apple_key)},
        "owningUserAccountCreation": {"initialFileName": "README.txt", "initialFileContents": WARNING_FILE},
        "maximumUploadBytes": 5368709120,
        "apiThreads": 8,
        "transferThreads": 256,
        "databaseConnections": 8,
        "sandbox": {"connectTo": f"127.0.0.1:{sandbox_port}", "caFile": str(layout.ca_file)},
    }
    overrides = layout.directory / "syncd-overrides.json"
    if overrides.exists():
        values.update(json.loads(overrides.read_text(encoding="utf-8")))
    text = json.dumps(values, indent=2) + "\n"
    write(layout.configuration, text)
    return text
