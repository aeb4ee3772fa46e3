"""Collects deliveries of a local runner for the verifiers: python3 collect.py RUNNER FILE.

RUNNER is what the runner prints with --json. FILE gets a list of deliveries, each with its headers, its body, the secrets that verify it, and
one that does not. Among them are deliveries of an endpoint with Unix time stamps, one across a rotation of the secret, and one after the
service's clock was moved by a day.
"""

import json
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

runner = json.loads(open(sys.argv[1]).read())
received = []
arrived = threading.Condition()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()
        with arrived:
            headers = {name.lower(): value for name, value in self.headers.items()}
            received.append((headers, body.decode()))
            arrived.notify()

    def log_message(self, *_):
        pass


def call(path, body, token=runner["api_key"]):
    request = urllib.request.Request(
        runner["base_url"] + path,
        json.dumps(body).encode(),
        {"authorization": f"Bearer {token}", "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def delivery(path):
    """Has an event delivered, and waits for it."""
    count = len(received)
    call(f"{path}/test", {})
    with arrived:
        assert arrived.wait_for(lambda: len(received) > count, 30), "no delivery arrived"
        return received[count]


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
endpoint = call(
    "/v1/webhook_endpoints",
    {
        "url": f"http://127.0.0.1:{server.server_port}/hook",
        "enabled_events": ["ping"],
        "signature_timestamp": "unix",
    },
)
path = f"/v1/webhook_endpoints/{endpoint['id']}"
first = endpoint["secret"]
collected = [("as it is", delivery(path), [first])]
second = call(f"{path}/rotate_secret", {})["secret"]
# A worker knows an endpoint as it was five seconds ago at most.
time.sleep(6)
collected.append(("after a rotation", delivery(path), [second, first]))
call("/_local/clock", {"advance_seconds": 86_500}, runner["token"])
collected.append(("a day later", delivery(path), [second]))
stranger = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
with open(sys.argv[2], "w") as file:
    deliveries = [
        {
            "name": name,
            "headers": headers,
            "body": body,
            "secrets": secrets,
            # A secret that signs no more is as wrong as one that never did.
            "wrong_secrets": [stranger] + [one for one in [first, second] if one not in secrets],
        }
        for name, (headers, body), secrets in collected
    ]
    json.dump(deliveries, file)
