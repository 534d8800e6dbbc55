"""A throw-away authority and a certificate for localhost, made by the openssl command."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path


def make(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Contexts of a server and of a client that trusts it."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-addext", names], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    return server, ssl.create_default_context(cafile=str(certificate))


_AUTHORITY = """[ca]
default_ca=all
[all]
database={folder}/index
new_certs_dir={folder}
serial={folder}/serial
default_md=sha256
policy=any
copy_extensions=copy
[any]
commonName=supplied
"""


def between(folder: Path, begins: str, ends: str, name: str = "IP:127.0.0.1") -> tuple[ssl.SSLContext, Path]:
    """A server's context with a certificate for `name` that holds between two dates, and the file of who vouches for it."""
    key, asked, made = (folder / part for part in ("key.pem", "asked.pem", "made.pem"))
    command = [
        "openssl",
        "req",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        str(key),
    ]
    command += ["-out", str(asked), "-subj", "/CN=server", "-addext", f"subjectAltName={name}"]
    subprocess.run(command, check=True, capture_output=True)
    settings = folder / "settings"
    settings.write_text(_AUTHORITY.format(folder=folder))
    (folder / "index").touch()
    (folder / "serial").write_text("01")
    command = [
        "openssl",
        "ca",
        "-batch",
        "-selfsign",
        "-config",
        str(settings),
        "-keyfile",
        str(key),
        "-in",
        str(asked),
    ]
    command += ["-out", str(made), "-startdate", begins, "-enddate", ends, "-notext"]
    subprocess.run(command, check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(made, key)
    return server, made
