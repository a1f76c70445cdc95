"""A real Mosquitto of the tests' own: a free port, a user with a password, a throw-away CA where TLS is wanted."""

import os
import shutil
import socket
import subprocess
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

WANTED = "needs Mosquitto; apt-get install mosquitto"
USER, PASSWORD = "gateway", "let-me-in"


def program(name):
    """Debian keeps servers out of a user's path."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")


def require_mosquitto():
    if program("mosquitto") is None or program("mosquitto_passwd") is None:
        (pytest.fail if os.environ.get("DEEPROTECT_REQUIRE_SERVICES") == "1" else pytest.skip)(WANTED)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Mosquitto:
    """Started and stopped at will, always on the same port."""

    def __init__(self, folder, *, tls=False):
        self.folder, self.port, self._process = folder, free_port(), None
        self.ca = folder / "ca.pem" if tls else None
        passwords, self.password = folder / "users", folder / "password"
        self.password.write_text(PASSWORD + "\n")
        subprocess.run([program("mosquitto_passwd"), "-b", "-c", passwords, USER, PASSWORD], check=True)
        lines = [f"listener {self.port} 127.0.0.1", "allow_anonymous false", f"password_file {passwords}"]
        lines += ["user root"] if os.geteuid() == 0 else []
        if tls:
            make_certificates(folder)
            lines += [f"certfile {folder / 'server.pem'}", f"keyfile {folder / 'server.key'}"]
        (folder / "mosquitto.conf").write_text("\n".join(lines) + "\n")

    @property
    def address(self):
        return f"{'mqtts' if self.ca else 'mqtt'}://{USER}@127.0.0.1:{self.port}"

    def start(self):
        with (self.folder / "log").open("ab") as log:
            command = [program("mosquitto"), "-c", str(self.folder / "mosquitto.conf")]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            if self._process.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text())
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError("Mosquitto does not listen")

    def stop(self):
        if self._process is not None:
            self._process.kill()  # as a broker ends that is cut off
            self._process.wait()
            self._process = None


def make_certificates(folder):
    """A CA that nobody else knows, and a certificate of it for 127.0.0.1."""
    ca_key, ca_name = ec.generate_private_key(ec.SECP256R1()), _name("throw-away CA")
    ca = _certificate(ca_name, ca_key, issuer=ca_name, signer=ca_key, extension=x509.BasicConstraints(True, None))
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    server = _certificate(_name("broker"), key, issuer=ca_name, signer=ca_key, extension=names)
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(ca.public_bytes(pem))
    (folder / "server.pem").write_bytes(server.public_bytes(pem))
    kind, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "server.key").write_bytes(key.private_bytes(pem, kind, plain))


def _name(common):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(subject, key, *, issuer, signer, extension):
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
