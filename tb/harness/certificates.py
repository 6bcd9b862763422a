"""Certificates for tests of TLS, by the program `openssl`: an authority, and what it signs."""

import ssl
import subprocess
from pathlib import Path


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Authority:
    """Signs certificates in a folder."""

    def __init__(self, folder, name="authority"):
        self.folder = Path(folder)
        self.certificate, self.key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", 3650,
                "-subj", f"/CN={name}", "-keyout", self.key, "-out", self.certificate)  # fmt: skip

    def sign(self, name, kind="ec"):
        """Certificate and key, as two files, of 127.0.0.1."""
        certificate, key, request, extension = (self.folder / f"{name}.{end}" for end in ("pem", "key", "csr", "ext"))
        how = {"ec": ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"), "rsa": ("rsa:2048",)}[kind]
        openssl("req", "-new", "-newkey", *how, "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        extension.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n")
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-days", 3650,
                "-extfile", extension, "-out", certificate)  # fmt: skip
        return certificate, key

    def context(self, client=None):
        """For a client that knows the authority; with a certificate of its own, if it has one."""
        context = ssl.create_default_context(cafile=self.certificate)
        if client:
            context.load_cert_chain(*client)
        return context
