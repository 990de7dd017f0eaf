"""The configuration file of the stack's syncd and the secrets it names."""

import base64
import json
import secrets
from pathlib import Path

from . import database
from .layout import Layout, write
from .processes import run
from .webserver import NCHAN

# The sandbox's registration of "our app"; no secrets, because the sandbox is not reachable from outside.
GOOGLE_CLIENT_ID = "1234567890-server.apps.googleusercontent.com"
GOOGLE_IOS_CLIENT_ID = "1234567890-ios.apps.googleusercontent.com"
FACEBOOK_CLIENT_ID = "123456789012345"
DROPBOX_APP_KEY = "sandboxdropboxkey"
MICROSOFT_CLIENT_ID = "5a0d31c6-0b7e-4f5d-9c1e-2f6a7b8c9d0e"
APP_SECRETS = {
    "google-client-secret": "sandbox-google-secret", "facebook-client-secret": "sandbox-facebook-secret",
    "dropbox-app-secret": "sandbox-dropbox-secret",
    "microsoft-client-secret": "sandbox~microsoft+secret/=",
    "webdav-oauth-secret": "sandboxNextcloudSecret0123456789abcdefghijklmnopqrstuvwxyzABCDEF",
}
WEBDAV_OAUTH_CLIENT_ID = "sandboxNextcloudServer0123456789abcdefghijklmnopqrstuvwxyzABCDEF"
APPLE = {
    "clientId": "com.example.sandbox", "otherClientIds": ["com.example.sandbox.web"],
    "teamId": "SANDBOX123", "keyId": "SANDBOXKEY",
}
APNS = {
    "teamId": "SANDBOX123", "keyId": "SANDBOXAPN", "topic": "com.example.sandbox",
    "otherTopics": ["com.example.sandbox.second"], "environment": "production",
}
FCM_ACCOUNT = {
    "type": "service_account",
    "project_id": "sandbox-project",
    "private_key_id": "sandbox-fcm-key",
    "client_email": "syncserver@sandbox-project.iam.gserviceaccount.com",
    "token_uri": "https://oauth2.googleapis.com/token",
}

WARNING_FILE = (
    "The files in this folder belong to an app that keeps them in sync on all your devices.\n"
    "Please do not change, rename or delete them here: use the app.\n"
)


def prepare(layout: Layout, sandbox_port: int | None, role_sockets: dict[str, Path]) -> str:
    """Writes the files, and missing secrets; returns their text.

    The roles' files differ only in the database's socket; that of `api` is the stack's. Members of
    DIR/syncd-overrides.json, if it exists, replace those of the same name: with another stack's `database`, `sealing` and
    `sandbox`, this one is a second host of that server. Without `sandbox_port`, syncd finds the providers by their
    names.
    """
    sealing_key = layout.secret("sealing-key")
    if not sealing_key.exists():
        write(sealing_key, base64.b64encode(secrets.token_bytes(32)).decode() + "\n")
    for name, value in APP_SECRETS.items():
        write(layout.secret(name), value + "\n")
    # The sandbox reads the same keys: they represent those that the app maker registered.
    apple_key = _key(layout.sandbox / "apple-client-key.pem", "EC", "ec_paramgen_curve:P-256")
    apns_key = _key(layout.sandbox / "apns-key.pem", "EC", "ec_paramgen_curve:P-256")
    fcm_key = _key(layout.sandbox / "fcm-key.pem", "RSA", "rsa_keygen_bits:2048")
    fcm_account = layout.secret("fcm-service-account.json")
    write(fcm_account, json.dumps(FCM_ACCOUNT | {"private_key": fcm_key.read_text(encoding="ascii")}))
    values = {
        "database": {
            "socket": str(role_sockets["api"]),
            "name": database.NAME,
            "user": database.USER,
            "passwordFile": str(layout.secret("database-password")),
            "roles": {
                role: {
                    "user": f"{database.USER}_{role}",
                    "passwordFile": str(layout.secret(f"database-password-{role}")),
                }
                for role in database.ROLES
            },
        },
        "sealing": {"keyFile": str(sealing_key)},
        "allowedSignInTypes": {
            "Google": True, "Facebook": True, "Microsoft": True, "Dropbox": True, "AppleSignIn": True,
            "WebDAV": True,
        },
        "GoogleServerClientId": GOOGLE_CLIENT_ID,
        "GoogleServerClientSecretFile": str(layout.secret("google-client-secret")),
        "googleClientIds": [GOOGLE_IOS_CLIENT_ID],
        "redirectURIs": ["https://app.sandbox.test/oauth", f"db-{DROPBOX_APP_KEY}://2/token"],
        "FacebookClientId": FACEBOOK_CLIENT_ID,
        "FacebookClientSecretFile": str(layout.secret("facebook-client-secret")),
        "MicrosoftClientId": MICROSOFT_CLIENT_ID,
        "MicrosoftClientSecretFile": str(layout.secret("microsoft-client-secret")),
        "DropboxAppKey": DROPBOX_APP_KEY,
        "DropboxAppSecretFile": str(layout.secret("dropbox-app-secret")),
        "appleSignIn": APPLE | {"privateKeyFile": str(apple_key)},
        "webdav": {
            "servers": ["https://nextcloud.sandbox.test/"],
            "oauthClientId": WEBDAV_OAUTH_CLIENT_ID,
            "oauthClientSecretFile": str(layout.secret("webdav-oauth-secret")),
        },
        "owningUserAccountCreation": {"initialFileName": "README.txt", "initialFileContents": WARNING_FILE},
        "apns": APNS | {"privateKeyFile": str(apns_key)},
        "fcm": {"serviceAccountFile": str(fcm_account)},
        "maximumUploadBytes": 5368709120,
        "apiThreads": 16,
        "transferThreads": 1024,
        "databaseConnections": 8,
        # All tests come from one address, and many send invalid tokens.
        "failedSignInsPerMinute": 1000000,
        "refusalsLoggedPerMinute": 1000000,
        # Tests wait until objects are deleted.
        "replacedVersionSeconds": 0,
        # Tests count the objects in folders, and the requests to providers; those of manifests enable them.
        "manifests": {"enabled": False},
        "metrics": {"directory": str(layout.run / "metrics")},
    }
    if sandbox_port is not None:
        values["sandbox"] = {"connectTo": f"127.0.0.1:{sandbox_port}", "caFile": str(layout.ca_file)}
    file = layout.directory / "syncd-overrides.json"
    overrides = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    values.update(overrides)
    if NCHAN.exists():
        values["changeSignal"] = {"socket": str(layout.changes_socket), **overrides.get("changeSignal", {})}
    texts = []
    for role, socket in role_sockets.items():
        values["database"]["socket"] = overrides.get("database", {}).get("socket") or str(socket)
        texts.append(json.dumps(values, indent=2) + "\n")
        write(layout.configuration_of(role), texts[-1])
    return "".join(texts)


def _key(path: Path, algorithm: str, option: str) -> Path:
    """A private key in PEM at `path`, created if it is missing."""
    if not path.exists():
        made = run(["openssl", "genpkey", "-algorithm", algorithm, "-pkeyopt", option])
        write(path, made)
    return path
