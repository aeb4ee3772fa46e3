"""Delivers webhooks of a local runner to a receiver: python3 deliver.py RUNNER COMMAND...

RUNNER is what the runner prints with --json. COMMAND starts the receiver, which listens on the port in PORT and prints a line for each event
that it handles. Fails unless it handles each event once, and refuses what is not signed with its secret.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

runner = json.load(open(sys.argv[1]))


def request(url, body, headers, method=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", **headers}
    return urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=30)


def call(path, body=None, method=None):
    with request(runner["base_url"] + path, body, {"authorization": f"Bearer {runner['api_key']}"}, method) as response:
        return json.load(response)


def eventually(check):
    for _ in range(300):
        if check():
            return
        time.sleep(0.1)
    raise AssertionError(f"{sys.argv[2:]}: not within 30 seconds; it printed {printed}")


with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
url = f"http://127.0.0.1:{port}/webhooks"
endpoint = call("/v1/webhook_endpoints", {"url": url, "enabled_events": ["fleet.created"]})
environment = {**os.environ, "PORT": str(port), "UVICORN_PORT": str(port), "WEBHOOK_SECRET": endpoint["secret"]}
receiver = subprocess.Popen(sys.argv[2:], env=environment, stdout=subprocess.PIPE, text=True)
printed = []
threading.Thread(target=lambda: printed.extend(map(str.split, receiver.stdout)), daemon=True).start()


def listens():
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def handled(event):
    return [line for line in printed if line == ["fleet.created", event]]


def created(fleet):
    """The ids of the events of a fleet."""
    events = call("/v1/events?type=fleet.created&limit=10")["data"]
    return [event["id"] for event in events if event["data"]["object"]["id"] == fleet]


def deliveries(event):
    """The statuses of the responses to each attempt, from the log of the endpoint."""
    page = call(f"/v1/webhook_endpoints/{endpoint['id']}/deliveries?event={event}")
    return [attempt["response_status"] for attempt in page["data"]]


try:
    eventually(listens)
    address = {"line1": "1 Bow Road", "city": "London", "postal_code": "E3 4LH", "country": "GB"}
    for name in ["Night shift", "Zoë’s vans"]:
        fleet = call("/v1/fleets", {"name": name, "email": "ops@fleet.example", "address": address})["id"]
        eventually(lambda: created(fleet))
        [event] = created(fleet)
        eventually(lambda: handled(event))
    call(f"/v1/events/{event}/redeliver", {})
    eventually(lambda: deliveries(event) == [204, 204])
    assert len(handled(event)) == 1, printed
    forged = {"id": "evt_forged", "type": "fleet.created", "data": {"object": {}}}
    stamp = str(int(time.time()))
    signature = {"service-signature": f"t={stamp},v1={'0' * 64}", "webhook-id": "evt_forged",
        "webhook-timestamp": stamp, "webhook-signature": "v1," + "A" * 43 + "="}
    for headers in [{}, signature]:
        try:
            request(url, forged, headers)
            raise AssertionError("a forged delivery was accepted")
        except urllib.error.HTTPError as error:
            assert error.code == 400, error
    assert not handled("evt_forged")
    print(" ".join(sys.argv[2:]), "handled each event once")
finally:
    receiver.kill()
    call(f"/v1/webhook_endpoints/{endpoint['id']}", method="DELETE")
