"""The certificates that the relay presents: the sandbox's own, and wrong ones."""

import ssl
import subprocess
from pathlib import Path


class Certificates:
    """Issued by the authority of a stack, in whose folder the wrong ones are stored."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.proper = self._context(folder / "sandbox.pem", folder / "sandbox.key")
        self.wrong_name = self._wrong("wrong-name", "example.com", 30)
        # It ended yesterday, before it began: OpenSSL reports "certificate has expired".
        self.expired = self._wrong("expired", "www.googleapis.com", -1, (folder / "sandbox.ext").read_text("ascii"))
        self.untrusted = self._untrusted()

    @staticmethod
    def _context(certificate: Path, key: Path) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context

    def _wrong(self, name: str, host: str, days: int, extensions: str = "") -> ssl.SSLContext:
        path = self.folder / f"{name}.pem"
        (self.folder / f"{name}.ext").write_text(
            extensions or f"subjectAltName=DNS:{host}\nextendedKeyUsage=serverAuth\n", encoding="ascii")
        self._openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                      f"/CN={host}", "-keyout", path.with_suffix(".key"), "-out", path.with_suffix(".csr"))
        self._openssl("x509", "-req", "-in", path.with_suffix(".csr"), "-CA", self.folder / "ca.pem", "-CAkey",
                      self.folder / "ca.key", "-CAcreateserial", "-days", days, "-extfile",
                      self.folder / f"{name}.ext", "-out", path)
        return self._context(path, path.with_suffix(".key"))

    def _untrusted(self) -> ssl.SSLContext:
        path = self.folder / "untrusted.pem"
        names = next(line for line in (self.folder / "sandbox.ext").read_text("ascii").splitlines()
                     if line.startswith("subjectAltName"))
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
                      30, "-subj", "/CN=nobody", "-addext", names, "-keyout", path.with_suffix(".key"), "-out", path)
        return self._context(path, path.with_suffix(".key"))

    @staticmethod
    def _openssl(*arguments) -> None:
        subprocess.run(["openssl", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
