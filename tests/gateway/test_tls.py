"""TLS of a real gateway: a renewed certificate is used without a restart, and one that does not fit is not."""

import socket
import ssl
import subprocess
from urllib.parse import urlsplit

import pytest
from tests.gateway.live import until


@pytest.fixture
def files(tmp_path):
    return tmp_path / "cert.pem", tmp_path / "key.pem"


def write(files, name):
    """A new certificate for that name, and its key, in place of those before."""
    certificate, key = files
    new = [path.with_suffix(".new") for path in files]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
         "-out", str(new[0]), "-keyout", str(new[1])],
        check=True, capture_output=True,
    )  # fmt: skip
    for path, place in zip(new, (certificate, key), strict=True):
        path.replace(place)


def shown(url):
    """The certificate that a new connection is shown."""
    place, context = urlsplit(url), ssl._create_unverified_context()
    plain = socket.create_connection((place.hostname, place.port), timeout=30)
    with plain, context.wrap_socket(plain) as secure:
        return secure.getpeercert(binary_form=True)


def is_own(url, files):
    return shown(url) == ssl.PEM_cert_to_DER_cert(files[0].read_text())


@pytest.mark.long
def test_a_renewed_certificate_is_shown_to_new_connections_without_a_restart(gateway, files):
    write(files, "first")
    gateway.alive = lambda: True  # its client would ask who signed it
    gateway.make("ann").start("--tls-certificate", str(files[0]), "--tls-key", str(files[1]))
    until(lambda: is_own(gateway.url, files), "the first certificate")
    first = shown(gateway.url)
    write(files, "second")
    until(lambda: is_own(gateway.url, files), "the second certificate")
    assert shown(gateway.url) != first
    second = shown(gateway.url)
    files[1].write_text("no key")
    until(lambda: "cannot be used; the one before is kept" in gateway.log(), "a line on the one that does not fit")
    assert shown(gateway.url) == second
    write(files, "third")
    until(lambda: is_own(gateway.url, files), "the third certificate")
    assert gateway.log().count("was renewed") == 2
