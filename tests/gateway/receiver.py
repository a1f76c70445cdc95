"""A receiver of pushed messages, as people write them: it stores what it is sent, and answers as it is told."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver:
    """`answers` are statuses to give one after the other; then 200."""

    def __init__(self, *answers, location=None):
        self.answers, self.location = list(answers), location
        self.bodies, self.requests, self.came = [], [], threading.Condition()
        self.release = threading.Event()
        self.release.set()

    def wait_for(self, count, seconds=20):
        """The first bodies that were answered with 200."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.bodies) >= count, seconds), f"{len(self.bodies)} of {count} came"
            return [json.loads(body) for body in self.bodies[:count]]


@contextmanager
def listening(receiver):
    """Its address, while it runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.release.wait(20)
            status = receiver.answers.pop(0) if receiver.answers else 200
            with receiver.came:
                receiver.requests.append((self.path, dict(self.headers), status))
                if status == 200:
                    receiver.bodies.append(body)
                receiver.came.notify_all()
            self.send_response(status)
            if receiver.location:
                self.send_header("Location", receiver.location)
            self.send_header("Content-Length", "7")
            self.end_headers()
            self.wfile.write(b"success")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/data"
    finally:
        receiver.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
