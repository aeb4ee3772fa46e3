"""A charging network beside the local AWS: the demo network of the local runner as a process of its own, which registers with the
deployed service over OCPI. What a driver does is done, from the reservation to the invoice."""

import json
import pathlib
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Network:
    """The demo network, registered with the service. Its stations are those of infra/cpo."""

    def __init__(self, executable, invoke, until):
        self.until, self.invoke = until, invoke
        issued = invoke("manage-networks", {"action": "issue_token", "mode": "test", "name": "Demo"})
        self.id = issued["network"]["id"]
        self.log = tempfile.NamedTemporaryFile("w+", prefix="network", suffix=".log")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/control"
        command = [executable, "--port", str(port), "--register", issued["versions_url"], "--token", issued["token"]]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        self.log.close()

    def said(self):
        return pathlib.Path(self.log.name).read_text()

    def show(self):
        with urllib.request.urlopen(self.url, timeout=10) as answer:
            return json.loads(answer.read())

    def at(self, operation, body):
        """Does what a person does at a charge point."""
        request = urllib.request.Request(
            f"{self.url}/{operation}", json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            raise AssertionError(f"{operation} {body}: {refused.code} {refused.read()}") from refused

    def connected(self):
        """Waits until the service has pulled everything from the network."""

        def pulled():
            assert self.process.poll() is None, f"the network has ended:\n{self.said()}"
            listed = self.invoke("manage-networks", {"action": "list", "mode": "test"})["data"]
            found = next(one for one in listed if one["id"] == self.id)
            pull = found["pull"]
            return found if found["status"] == "connected" and pull and pull["finished"] else None

        return self.until("the first pull from the network", pulled, 90)


class Driver:
    """A fleet with a driver and a vehicle, and what they do."""

    def __init__(self, api, until, standard, number):
        self.api, self.until = api, until
        body = {
            "name": f"Network fleet {number}", "email": "ops@fleet.example",
            "address": {"city": "London", "country": "GB", "line1": "1 Bow Road", "postal_code": "E3 4LH"},
        }  # fmt: skip
        self.fleet = api.post("/v1/fleets", body)["id"]
        self.id = api.post("/v1/drivers", {"name": "Grace Hopper", "email": "grace@fleet.example"})["id"]
        api.post(f"/v1/drivers/{self.id}/attach", {"fleet": self.fleet})
        self.vehicle = api.post(
            "/v1/vehicles",
            {"fleet": self.fleet, "registration_plate": f"NET {number}", "vin": f"WVWZZZ1KZBW{number:06}",
             "battery_capacity": 60000, "charging_standard": standard, "drivers": [self.id]},
        )["id"]  # fmt: skip

    def start(self, station, connector):
        body = {"charging_station": station, "connector": connector, "driver": self.id, "vehicle": self.vehicle}
        return self.api.post("/v1/charging_sessions", body)

    def becomes(self, session, status, seconds=60):
        """The session, once it has the status."""

        def found():
            shown = self.api.get(f"/v1/charging_sessions/{session}")
            return shown if shown["status"] == status else None

        return self.until(f"{session} to be {status}", found, seconds)

    def invoice(self, start, end):
        return self.api.post(
            "/v1/invoices", {"fleet": self.fleet, "currency": "gbp", "period_start": start, "period_end": end}
        )


def check_session(network, api, until, moment, station, say):
    """A session that is started and stopped through the API, and what the CDR bills for it."""
    driver = Driver(api, until, "Type2", 1)
    session = driver.start(station, "1001-1-1")
    assert session["status"] == "pending", session
    session = session["id"]
    driver.becomes(session, "active")
    # The network reports energy every few minutes, and at the end.
    time.sleep(20)
    stopping = api.post(f"/v1/charging_sessions/{session}/stop", {})
    assert stopping["status"] in ("active", "completed"), stopping
    driver.becomes(session, "completed")

    def billed():
        shown = api.get(f"/v1/charging_sessions/{session}")
        return shown if shown["cost_source"] == "cdr" else None

    shown = until("the CDR", billed)
    assert shown["energy_consumed"] > 0 and shown["amount_due"] > 0, shown
    assert abs(shown["price_check"]["difference"]) <= 1, shown["price_check"]
    line = driver.invoice(moment(-60), moment(1))["line_items"][0]
    assert (line["amount"], line["price_check"]) == (shown["amount_due"], shown["price_check"]), line
    say(f"a session at the network: pending, active, {shown['energy_consumed']} Wh, its CDR of {shown['amount_due']} on the invoice")
    # The same, where the network refuses.
    network.at("next_command", {"behaviour": "reject"})
    refused = driver.becomes(driver.start(station, "1001-1-1")["id"], "failed")
    assert (refused["failed_reason"], refused["amount_due"]) == ("network_rejected", 0), refused


def check_reservation(network, api, until, moment, say):
    """A reservation that the network refuses at one EVSE and takes at the other."""
    driver = Driver(api, until, "CCS", 2)
    network.at("next_command", {"behaviour": "reject"})
    reservation = api.post(
        "/v1/reservations",
        {"driver": driver.id, "vehicle": driver.vehicle, "connector_type": ["CCS"], "ideal_start": moment(10),
         "ideal_end": moment(70), "location": {"latitude": 51.505, "longitude": -0.092, "radius": 500}},
    )["id"]  # fmt: skip
    taken = until("RESERVE_NOW", lambda: network.show()["reservations"], 120)

    def moved():
        events = api.get("/v1/events?type=reservation.reassigned&limit=100")["data"]
        return any(event["data"]["object"]["id"] == reservation for event in events)

    until("the reassignment", moved)
    shown = api.get(f"/v1/reservations/{reservation}")
    assert shown["status"] == "confirmed", shown
    assert len(taken) == 1 and shown["connector"].startswith(taken[0]["evse"]), (taken, shown)
    api.post(f"/v1/reservations/{reservation}/cancel", {})
    until("CANCEL_RESERVATION", lambda: not network.show()["reservations"])
    say("the network refused a reservation at one EVSE, took it at the other, and was sent its cancellation")


def check_card(network, api, until, moment, say):
    """A card that is held to the reader of a charge point, and one that is blocked."""
    driver = Driver(api, until, "Type2", 3)
    card = api.post("/v1/charge_cards", {"uid": "04A1B2C3D4", "driver": driver.id, "vehicle": driver.vehicle})["id"]

    def token(valid):
        tokens = network.show()["tokens"]
        found = tokens.values() if isinstance(tokens, dict) else tokens
        return any(one["uid"] == "04A1B2C3D4" and one["valid"] == valid for one in found)

    until("the card's token", lambda: token(True))
    begun = network.at("tap", {"evse": "1004-1", "uid": "04A1B2C3D4"})
    assert begun["result"] == "started", begun

    def mine(status):
        sessions = api.get(f"/v1/charging_sessions?driver={driver.id}")["data"]
        return sessions[0] if sessions and sessions[0]["status"] == status else None

    session = until("the card's session", lambda: mine("active"))
    assert session["started_by"] == "card", session
    ended = network.at("tap", {"evse": "1004-1", "uid": "04A1B2C3D4"})
    assert ended["result"] == "stopped", ended
    done = until("the end of the card's session", lambda: mine("completed"))
    until("its CDR", lambda: api.get(f"/v1/charging_sessions/{done['id']}")["cost_source"] == "cdr")
    lines = driver.invoice(moment(-60), moment(1))["line_items"]
    assert [line["charging_session"] for line in lines] == [done["id"]], lines
    api.post(f"/v1/charge_cards/{card}", {"status": "blocked"})
    until("the blocked card's token", lambda: token(False))
    refused = network.at("tap", {"evse": "1004-1", "uid": "04A1B2C3D4"})
    assert refused["result"] == "refused", refused
    say("a card that was held to the reader became a session and a line of an invoice; blocked, it was refused")


class Walk:
    """Everything above, and a start that the network never answers, whose end is five minutes away."""

    def __init__(self, executable, api, invoke, until, moment, say):
        self.api, self.until, self.say = api, until, say
        self.network = Network(executable, invoke, until)
        try:
            self.network.connected()
            near = api.get("/v1/charging_stations?latitude=51.508&longitude=-0.128&radius=200&limit=100")["data"]
            station = next(one["id"] for one in near if one["network"])
            say("a charging network registered over OCPI, and its locations and tariffs were pulled")
            check_session(self.network, api, until, moment, station, say)
            check_reservation(self.network, api, until, moment, say)
            check_card(self.network, api, until, moment, say)
            self.silent = Driver(api, until, "Type2", 4)
            self.network.at("next_command", {"behaviour": "ignore"})
            self.unanswered = self.silent.start(station, "1001-2-1")["id"]
            assert self.silent.becomes(self.unanswered, "pending")
        except BaseException:
            print(self.network.said())
            self.network.stop()
            raise

    def end(self):
        """The network has not answered: the session fails after five minutes and costs nothing."""
        shown = self.silent.becomes(self.unanswered, "failed", 330)
        assert (shown["failed_reason"], shown["amount_due"]) == ("network_timeout", 0), shown
        self.network.stop()
        self.say("a start that the network never answered failed in time and cost nothing")
