"""A certificate authority on loopback with the part of ACME (RFC 8555) that certbot uses: one account, orders for host
names, and the challenge http-01. It checks every signature, nonce and challenge, and issues certificates of its own
root.
"""

import base64
import datetime
import hashlib
import http.client
import json
import secrets
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.x509.oid import NameOID

PORT = 14000
DIRECTORY = f"https://localhost:{PORT}/directory"
DAYS = 90
CHALLENGE_SECONDS = 10.0


class Refusal(Exception):
    """A problem document (RFC 8555, section 6.7)."""

    def __init__(self, status: int, kind: str, detail: str):
        super().__init__(detail)
        self.status = status
        self.document = {"type": f"urn:ietf:params:acme:error:{kind}", "detail": detail, "status": status}


class Authority:
    """Serves after `start`, in the network namespace of the calling thread, where all hosts have the same address."""

    ADDRESS = "127.0.0.1"

    def __init__(self, folder: Path):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.root = self._root()
        self.lock = threading.Lock()
        self.nonces: set[str] = set()
        self.accounts: dict[str, dict] = {}
        self.orders: dict[str, dict] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self.root_file = folder / "authority.pem"
        self.root_file.write_bytes(self.root.public_bytes(serialization.Encoding.PEM))
        self._own = folder / "acme.pem"
        own_key = ec.generate_private_key(ec.SECP256R1())
        self._own.write_bytes(
            own_key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
            + self.issue(own_key.public_key(), ["localhost"]))

    def start(self) -> None:
        authority = self

        class Handler(Exchange):
            server_authority = authority

        server = ThreadingHTTPServer((self.ADDRESS, PORT), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._own)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def _root(self) -> x509.Certificate:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "SyncServer's test authority")])
        now = datetime.datetime.utcnow()
        return (
            x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(self.key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=DAYS))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self.key, hashes.SHA256()))

    def issue(self, public_key, names: list[str]) -> bytes:
        """The certificate and its chain, in PEM."""
        now = datetime.datetime.utcnow()
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        leaf = (
            x509.CertificateBuilder().subject_name(subject).issuer_name(self.root.subject).public_key(public_key)
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=DAYS - 1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .sign(self.key, hashes.SHA256()))
        return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in (leaf, self.root))

    # MARK: Signed requests

    def nonce(self) -> str:
        with self.lock:
            nonce = secrets.token_urlsafe(16)
            self.nonces.add(nonce)
            return nonce

    def open(self, body: dict, url: str) -> tuple[dict, str | None, dict]:
        """The payload of a signed request, and the account that sent it (sections 6.2 to 6.5)."""
        header = json.loads(decoded(body["protected"]))
        with self.lock:
            if header.get("nonce") not in self.nonces:
                raise Refusal(400, "badNonce", "the nonce is unknown or already used")
            self.nonces.remove(header["nonce"])
        if header.get("url") != url:
            raise Refusal(401, "unauthorized", f"signed for {header.get('url')}, sent to {url}")
        account = header.get("kid")
        if account is not None and account not in self.accounts:
            raise Refusal(400, "accountDoesNotExist", account)
        key = self.accounts[account] if account else header["jwk"]
        verify(key, header["alg"], f"{body['protected']}.{body['payload']}".encode(), decoded(body["signature"]))
        payload = decoded(body["payload"])
        return json.loads(payload) if payload else {}, account, key

    # MARK: Resources

    def respond(self, path: str, body: dict, url: str) -> tuple[int, dict | bytes, dict[str, str]]:
        payload, account, key = self.open(body, url)
        kind, _, name = path.strip("/").partition("/")
        if kind == "new-account":
            account = url.replace("new-account", f"account/{thumbprint(key)}")
            self.accounts[account] = key
            return 201, {"status": "valid"}, {"Location": account}
        if account is None:
            raise Refusal(401, "unauthorized", "an account is required")
        base = url[:-len(path)]
        if kind == "new-order":
            return self._order(base, payload)
        order = self.orders.get(name)
        if order is None:
            raise Refusal(404, "malformed", f"{path} does not exist")
        match kind:
            case "order": return 200, order["shown"], {}
            case "authorization": return 200, order["authorization"], {}
            case "challenge": return 200, self._prove(order, key), {"Link": f'<{base}/authorization/{name}>;rel="up"'}
            case "finalize": return 200, self._finalize(order, payload, f"{base}/certificate/{name}"), {}
            case "certificate": return 200, order["certificate"], {}
        raise Refusal(404, "malformed", f"{path} does not exist")

    def _order(self, base: str, payload: dict) -> tuple[int, dict, dict[str, str]]:
        (identifier,) = payload["identifiers"]
        name = secrets.token_hex(8)
        challenge = {"type": "http-01", "status": "pending", "url": f"{base}/challenge/{name}",
                     "token": secrets.token_urlsafe(24)}
        shown = {"status": "pending", "identifiers": [identifier], "authorizations": [f"{base}/authorization/{name}"],
                 "finalize": f"{base}/finalize/{name}"}
        self.orders[name] = {
            "shown": shown, "host": identifier["value"], "challenge": challenge,
            "authorization": {"status": "pending", "identifier": identifier, "challenges": [challenge]}}
        return 201, shown, {"Location": f"{base}/order/{name}"}

    def _prove(self, order: dict, key: dict) -> dict:
        """Requests the answer from the host by plain HTTP (section 8.3)."""
        challenge = order["challenge"]
        wanted = f"{challenge['token']}.{thumbprint(key)}"
        connection = http.client.HTTPConnection(self.ADDRESS, 80, timeout=CHALLENGE_SECONDS)
        connection.request("GET", f"/.well-known/acme-challenge/{challenge['token']}", headers={"Host": order["host"]})
        found = connection.getresponse()
        is_proven = found.read().decode(errors="replace").strip() == wanted and found.status == 200
        connection.close()
        status = "valid" if is_proven else "invalid"
        if not is_proven:
            challenge["error"] = Refusal(403, "unauthorized", f"the challenge's status is {found.status}").document
        challenge["status"] = order["authorization"]["status"] = status
        order["shown"]["status"] = "ready" if is_proven else "invalid"
        return challenge

    def _finalize(self, order: dict, payload: dict, certificate_url: str) -> dict:
        if order["shown"]["status"] != "ready":
            raise Refusal(403, "orderNotReady", order["shown"]["status"])
        request = x509.load_der_x509_csr(decoded(payload["csr"]))
        names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(
            x509.DNSName)
        if not request.is_signature_valid or names != [order["host"]]:
            raise Refusal(400, "badCSR", f"asked for {names}")
        order["certificate"] = self.issue(request.public_key(), names)
        order["shown"] |= {"status": "valid", "certificate": certificate_url}
        return order["shown"]


class Exchange(BaseHTTPRequestHandler):
    server_authority: Authority
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:  # pylint: disable=invalid-name
        self._send(200, b"", {})

    def do_GET(self) -> None:  # pylint: disable=invalid-name
        base = f"https://{self.headers['Host']}"
        if self.path == "/directory":
            self._send(200, {"newNonce": f"{base}/new-nonce", "newAccount": f"{base}/new-account",
                             "newOrder": f"{base}/new-order", "meta": {}}, {})
        else:
            self._send(204 if self.path == "/new-nonce" else 404, b"", {})

    def do_POST(self) -> None:  # pylint: disable=invalid-name
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            reply = self.server_authority.respond(self.path, body, f"https://{self.headers['Host']}{self.path}")
        except Refusal as refusal:
            reply = refusal.status, refusal.document, {}
        self._send(*reply)

    def _send(self, status: int, content: dict | bytes, headers: dict[str, str]) -> None:
        is_document = isinstance(content, dict)
        data = json.dumps(content).encode() if is_document else content
        self.send_response(status)
        self.send_header("Replay-Nonce", self.server_authority.nonce())
        self.send_header("Cache-Control", "no-store")
        kind = "application/pem-certificate-chain" if not is_document else (
            "application/problem+json" if status >= 400 else "application/json")
        for name, value in ({"Content-Type": kind, "Content-Length": str(len(data))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args) -> None:  # pylint: disable=redefined-builtin
        pass


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def thumbprint(key: dict) -> str:
    """RFC 7638."""
    members = ("crv", "kty", "x", "y") if key["kty"] == "EC" else ("e", "kty", "n")
    text = json.dumps({name: key[name] for name in members}, separators=(",", ":"))
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def verify(key: dict, algorithm: str, message: bytes, signature: bytes) -> None:
    """RFC 7515, with RS256 and ES256."""
    def number(name: str) -> int:
        return int.from_bytes(decoded(key[name]), "big")

    try:
        if algorithm == "RS256":
            rsa.RSAPublicNumbers(number("e"), number("n")).public_key().verify(
                signature, message, padding.PKCS1v15(), hashes.SHA256())
        elif algorithm == "ES256":
            pair = (int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
            ec.EllipticCurvePublicNumbers(number("x"), number("y"), ec.SECP256R1()).public_key().verify(
                utils.encode_dss_signature(*pair), message, ec.ECDSA(hashes.SHA256()))
        else:
            raise Refusal(400, "badSignatureAlgorithm", algorithm)
    except InvalidSignature:
        raise Refusal(401, "unauthorized", "the signature is wrong") from None
