"""A private certificate authority, and certificates for our server and for the provider hosts of the sandbox."""

from .layout import Layout, write
from .processes import run

VALID_DAYS = 366  # Mozilla's guidelines; iOS rejects server certificates valid for more than 825 days
RENEW_SECONDS = 30 * 86400

SERVER_NAMES = ["DNS:localhost", "IP:127.0.0.1", "IP:::1"]

# Every host that syncd contacts, so that the sandbox can serve production URLs.
PROVIDER_HOSTS = [
    "accounts.google.com", "oauth2.googleapis.com", "openidconnect.googleapis.com", "www.googleapis.com",
    "fcm.googleapis.com",
    "graph.facebook.com", "limited.facebook.com", "www.facebook.com",
    "api.dropboxapi.com", "content.dropboxapi.com", "notify.dropboxapi.com", "www.dropbox.com",
    "ucsandbox.dl.dropboxusercontent.com",
    "graph.microsoft.com", "login.microsoftonline.com", "login.live.com", "api.onedrive.com",
    "my.microsoftpersonalcontent.com",
    "appleid.apple.com", "account.apple.com", "api.push.apple.com", "api.sandbox.push.apple.com",
    "sns.us-east-1.amazonaws.com", "sns.us-west-2.amazonaws.com", "sns.eu-west-1.amazonaws.com",
    "sns.eu-central-1.amazonaws.com",
    # Real servers that tests run behind the sandbox.
    "*.sandbox.test",
]


def prepare(layout: Layout) -> None:
    """Creates missing and soon expiring certificates. The authority signs only for this stack."""
    folder = layout.certificates
    providers = ["DNS:" + host for host in PROVIDER_HOSTS] + SERVER_NAMES
    if all(_is_current(folder / f"{name}.pem", names) for name, names in
           (("ca", []), ("server", SERVER_NAMES), ("sandbox", providers))):
        return
    run([
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-days", VALID_DAYS, "-subj", "/CN=SyncServer private stack", "-keyout", folder / "ca.key",
        "-out", layout.ca_file, "-addext", "keyUsage=critical,keyCertSign,cRLSign"])
    _issue(layout, "server", SERVER_NAMES)
    _issue(layout, "sandbox", providers)
    for key in folder.glob("*.key"):
        key.chmod(0o600)


def _is_current(certificate, names: list[str]) -> bool:
    list_file = certificate.with_suffix(".names")
    if not certificate.exists() or (names and (not list_file.exists() or list_file.read_text() != "\n".join(names))):
        return False
    try:
        run(["openssl", "x509", "-in", certificate, "-noout", "-checkend", RENEW_SECONDS])
    except Exception:  # pylint: disable=broad-except  expired or unreadable: create a new one
        return False
    return True


def _issue(layout: Layout, name: str, names: list[str]) -> None:
    folder = layout.certificates
    run([
        "openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-subj", f"/CN=SyncServer private stack {name}", "-keyout", folder / f"{name}.key",
        "-out", folder / f"{name}.csr"])
    write(folder / f"{name}.ext", "\n".join([
        "basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature", "extendedKeyUsage=serverAuth",
        "subjectKeyIdentifier=hash", "authorityKeyIdentifier=keyid", "subjectAltName=" + ",".join(names), ""]))
    run([
        "openssl", "x509", "-req", "-in", folder / f"{name}.csr", "-CA", layout.ca_file, "-CAkey", folder / "ca.key",
        "-CAcreateserial", "-days", VALID_DAYS, "-sha256", "-extfile", folder / f"{name}.ext",
        "-out", folder / f"{name}.pem"])
    write(folder / f"{name}.names", "\n".join(names))
