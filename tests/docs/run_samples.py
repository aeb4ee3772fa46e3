"""Runs the samples of the reference for curl and the command line against a local runner.

run_samples.py SAMPLES URL KEY: the output of samples.mjs, the runner's address, and a key. `fleet` is on the PATH and has a profile.
The ids in the samples become those of objects that exist, and times follow the runner's clock. The state of an object can forbid an action; the
request has to be right.
"""

import datetime
import json
import re
import subprocess
import sys
import urllib.request

samples, url, key = sys.argv[1:]
ORDER = {"post": 0, "get": 1, "delete": 2}
# They leave objects of most kinds, and the samples create the others; the last driver and the last vehicle belong together.
EVENTS = (
    "charge_card.created batch.completed site.created policy.created report.succeeded ping service.succeeded credit_note.created "
    "invoice.finalized reservation.created"
).split()
LISTS = (
    "batches charge_cards charging_sessions charging_stations credit_notes drivers events fleets invoices policies reports reservations "
    "sites transactions vehicles webhook_endpoints"
).split()


def fleet(*words: str) -> str:
    return subprocess.run(["fleet", *words], check=True, capture_output=True, text=True).stdout.strip()


def call(path: str, body: dict | None = None) -> dict:
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(url + path, data, {"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def known_ids() -> dict[str, str]:
    for event in EVENTS:
        fleet("trigger", event, "--advance-clock", "--quiet")
    found = [call(f"/v1/{name}?limit=1")["data"] for name in LISTS]
    ids = [page[0]["id"] for page in found if page]
    # One of the account pays for everything.
    ids.append(call("/v1/payment_methods", {"type": "card", "token": "tok_success"})["id"])
    stations = call("/v1/charging_stations?available=true&connector_type[]=Type2&limit=100")["data"]
    free = [(station["id"], one["id"]) for station in stations if station["capabilities"]["24_7_access"] for one in station["connectors"]
            if one["type"] == "Type2" and one["status"] == "available"]
    return {one.split("_")[0]: one for one in ids} | {"chst": free[0][0], "connector": free[0][1]}


def placed(sample: str, ids: dict[str, str], moment: datetime.datetime) -> str:
    sample = re.sub(r"\b([a-z]+)_01a1f0[0-9a-f]{26}\b", lambda found: ids.get(found[1], found[0]), sample)
    sample = re.sub(r"(--connector |\"connector\":\")1\b", rf"\g<1>{ids['connector']}", sample)
    time = (moment - datetime.timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    sample = re.sub(r"(period[_-]end\W+)[\dT:-]+Z", rf"\g<1>{time}", sample)
    time = (moment - datetime.timedelta(days=31)).strftime("%Y-%m-%dT%H:%M:%SZ")
    sample = re.sub(r"(period[_-]start\W+|/replay[^{]*{\W*from\W+|replay \S+ --from )[\dT:-]+Z", rf"\g<1>{time}", sample)
    day = (moment + datetime.timedelta(days=2)).strftime("%Y-%m-%d")
    return re.sub(r"2027-01-15", day, sample)


def status_of(label: str, command: str) -> tuple[int, str]:
    if label == "curl":
        command = command.replace("curl ", "curl -s -w '\\n%{http_code}' ", 1).replace("$FLEET_API_KEY", key)
    else:
        command += " --json"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    if label == "curl":
        text, status = done.stdout.rsplit("\n", 1)
        return int(status), text
    if done.returncode == 0:
        return 200, done.stdout
    return (json.loads(done.stderr)["status"] if done.returncode in (3, 4) else 0), done.stderr


# A driver who has left the fleet drives none of its vehicles.
operations = sorted(json.load(open(samples)), key=lambda one: (ORDER[one["method"]], "/detach" in one["samples"]["curl"]))
for label in ("Command line", "curl"):
    ids, succeeded = known_ids(), 0
    moment = datetime.datetime.fromisoformat(fleet("clock", "show"))
    for operation in operations:
        command = placed(operation["samples"][label], ids, moment).replace("http://127.0.0.1:8787", url)
        status, text = status_of(label, command)
        succeeded += status in (200, 302)
        # What the sample of a resource creates takes the place of the id in those that follow.
        if status == 200 and operation["method"] == "post" and (id := json.loads(text).get("id")):
            ids.setdefault(id.split("_")[0], id)
        # A session of the demo stations has no signed values.
        allowed = (200, 302, 402, 409, 404) if "signed" in command else (200, 302, 402, 409)
        assert status in allowed, f"{command}\n{status} {text}"
    print(f"{label}: {succeeded} of {len(operations)} samples succeeded, the others were refused for the state of their objects")
    assert succeeded * 10 > len(operations) * 7
