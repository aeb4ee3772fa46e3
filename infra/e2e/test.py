"""Deploys infra/template.yaml and its nested stacks with the executables of a folder on a local AWS, and tests the service over HTTP.

python test.py path/to/folder path/to/charge/point/operator path/to/tests/of/the/api
python test.py path/to/folder --serve    # tests nothing: deploys, serves the console too, and stays until it is interrupted
"""

import collections
import concurrent.futures
import functools
import hashlib
import hmac
import http.server
import io
import json
import os
import pathlib
import queue
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
from datetime import datetime, timedelta, timezone

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

import network
import stack

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
REGION = "eu-west-1"
os.environ["AWS_DEFAULT_REGION"] = REGION
STARTED = time.monotonic()


def say(text):
    print(f"{time.monotonic() - STARTED:6.1f}s  {text}", flush=True)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(what, found, seconds=60):
    """Asks until there is an answer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = found()
        if answer:
            return answer
        time.sleep(0.2)
    raise AssertionError(f"{what}: not within {seconds} s")


class Aws:
    """The local AWS."""

    def __init__(self, log):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        environment = {
            **os.environ,
            "AUTH": "true",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": REGION,
            # What the functions are given: this AWS in place of the real one, and a receiver of webhooks on this machine.
            "AWS_ENDPOINT_URL": self.url,
            "ALLOW_LOOPBACK_WEBHOOKS": "true",
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self.port),
            "LAMBDA_WARM_TTL_SECONDS": "900",
            "MINISTACK_REGION": REGION,
            "TMPDIR": os.path.dirname(log.name),
        }
        command = [sys.executable, str(HERE / "emulator.py")]
        self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        until("the local AWS", self.answers)

    def answers(self):
        assert self.process.poll() is None, "the local AWS has ended: see its log"
        try:
            return urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=1).status == 200
        except OSError:
            return False

    def client(self, service, credentials=None):
        given = credentials or {"AccessKeyId": "test", "SecretAccessKey": "test"}
        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id=given["AccessKeyId"],
            aws_secret_access_key=given["SecretAccessKey"],
            aws_session_token=given.get("SessionToken"),
            config=Config(retries={"max_attempts": 0}, read_timeout=120, s3={"addressing_style": "path"}),
        )

    def stop(self):
        # Its functions are processes of the same session.
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(10)
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


class Deployment:
    """The root stack and its nested stacks on the local AWS."""

    def __init__(self, aws, executables):
        self.aws, self.executables = aws, pathlib.Path(executables)
        s3 = aws.client("s3")
        s3.create_bucket(Bucket="artifacts", CreateBucketConfiguration={"LocationConstraint": REGION})
        for executable in ["assistants", "core", "functions"]:
            self.upload(executable, f"{executable}.zip")
        # The origin of a static host that has the console.
        self.console = f"http://127.0.0.1:{free_port()}"
        parameters = {
            "RateTest": "1000", "DeletionProtection": "false", "Architecture": "x86_64", "Console": self.console,
        }  # fmt: skip
        if os.uname().machine == "aarch64":
            parameters["Architecture"] = "arm64"
        template, self.nested = stack.root(ROOT / "infra/template.yaml")
        self.resources, self.outputs = self.create("fleet", template, parameters)
        # The functions of all nested stacks, by their logical names.
        self.functions = {}
        self.handed = {}
        # Where charging networks reach the service: they know no header that names the API. A deployment has a domain for it.
        id = self.outputs["ApiUrl"].split("//")[1].split(".")[0]
        base = f"{aws.url}/_aws/execute-api/{id}/$default"
        for name, (path, expressions) in self.nested.items():
            made = stack.child(path, "artifacts")
            self.handed[name] = stack.handed(self.outputs, expressions)
            assert self.handed[name]["BaseUrl"] == "", self.handed[name]
            self.handed[name]["BaseUrl"] = base
            check_agreement(name, made, expressions)
            resources, _ = self.create(name, made, self.handed[name])
            self.resources |= {key: id for key, id in resources.items() if key not in self.resources}
            self.functions |= {key: one for key, one in made["Resources"].items() if one["Type"] == "AWS::Lambda::Function"}

    def upload(self, executable, key, note=""):
        """A package of an executable under that key. With a note it is another package of the same executable."""
        artifact = io.BytesIO()
        with zipfile.ZipFile(artifact, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            entry = zipfile.ZipInfo("bootstrap")
            entry.external_attr = 0o755 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (self.executables / executable).read_bytes(), compresslevel=1)
            if note:
                archive.writestr("note.txt", note)
        self.aws.client("s3").put_object(Bucket="artifacts", Key=key, Body=artifact.getvalue())

    def create(self, name, template, parameters):
        cloudformation = self.aws.client("cloudformation")
        cloudformation.create_stack(**self.described(name, template, parameters))
        return self.finished(name, "CREATE_COMPLETE")

    def update(self, name, template, parameters):
        cloudformation = self.aws.client("cloudformation")
        cloudformation.update_stack(**self.described(name, template, parameters))
        return self.finished(name, "UPDATE_COMPLETE")

    def described(self, name, template, parameters):
        self.aws.client("s3").put_object(Bucket="artifacts", Key=f"{name}.json", Body=json.dumps(template).encode())
        return {
            "StackName": name,
            "TemplateURL": f"{self.aws.url}/artifacts/{name}.json",
            "Capabilities": ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"],
            "Parameters": [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        }

    def finished(self, name, wanted):
        cloudformation = self.aws.client("cloudformation")

        def ended():
            found = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
            return found if not found["StackStatus"].endswith("IN_PROGRESS") else None

        made = until(f"the stack {name}", ended, 240)
        if made["StackStatus"] != wanted:
            for event in cloudformation.describe_stack_events(StackName=name)["StackEvents"]:
                if "FAILED" in event["ResourceStatus"]:
                    say(f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason')}")
            raise AssertionError(f"the stack {name} is {made['StackStatus']}: {made.get('StackStatusReason')}")
        pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=name)
        resources = {
            one["LogicalResourceId"]: one["PhysicalResourceId"] for page in pages for one in page["StackResourceSummaries"]
        }
        return resources, {one["OutputKey"]: one["OutputValue"] for one in made.get("Outputs", [])}


def check_agreement(name, template, expressions):
    """The root sets every parameter of a nested stack, and none that the stack does not have."""
    declared = set(template["Parameters"])
    assert declared == set(expressions), f"{name}: {sorted(declared ^ set(expressions))}"


class Traffic:
    """Requests that go on while something else happens, by several clients at once."""

    def __init__(self, api, path, clients=4):
        self.api, self.path = api, path
        self.answers = collections.Counter()
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.send) for _ in range(clients)]

    def send(self):
        while not self.ended.is_set():
            try:
                status, _, headers = self.api.send("GET", self.path)
                limit = headers.get("RateLimit-Limit")
            except OSError as error:
                status, limit = type(error).__name__, None
            self.answers[(status, limit)] += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def statuses(self):
        return {status for status, _ in self.answers}


def check_upgrade(aws, deployment, api):
    """A deployment publishes a new version of each function and moves its alias; the alias can be moved back. The new version has
    another setting, which its answers show. Requests go on all the time, and none fails."""
    name = "FleetsStack"
    path, _ = deployment.nested[name]
    functions = aws.client("lambda")
    function = "fleet-list-fleets"

    def limit():
        return api.send("GET", "/v1/fleets")[2]["RateLimit-Limit"]

    def version():
        return functions.get_alias(FunctionName=function, Name="live")["FunctionVersion"]

    def setting(rate):
        """Parameters with another limit of requests per second, of which the header shows twice as much."""
        handed = deployment.handed[name]
        settings = handed["Settings"].replace(f"/{handed['RateTest']}/", f"/{rate}/")
        assert settings != handed["Settings"], settings
        return handed | {"RateTest": str(rate), "Settings": settings}

    before, old = version(), limit()
    deployment.upload("core", "core-2.zip", "another release")
    template = stack.child(path, "artifacts", "-2")
    with Traffic(api, "/v1/fleets") as traffic:
        deployment.update(name, template, setting(777))
        until("the new version", lambda: limit() == "1554")
        after = version()
        assert after != before, f"the alias is at version {after} still"
        # Only a setting changes, not the code: that is a new version, too.
        deployment.update(name, template, setting(778))
        until("the version of the setting", lambda: limit() == "1556")
        # Back to the first version, as infra/README.md describes it.
        functions.update_alias(FunctionName=function, Name="live", FunctionVersion=before)
        until("the old version", lambda: limit() == old)
    assert traffic.statuses() == {200}, traffic.answers
    say(f"versions {before}, {after} and {int(after) + 1} and back by alias: {traffic.answers.total()} requests, none failed")


def operated(aws, script, *words):
    """What a script of infra/operate prints, run as operators do."""
    environment = {**os.environ, "AWS_ENDPOINT_URL": aws.url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    command = [sys.executable, str(ROOT / "infra/operate" / script), *words]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def check_versions(aws, name="FleetsStack", function="fleet-list-fleets"):
    """Old versions are deleted; the one in use stays, and one to go back to, and the newest."""
    functions = aws.client("lambda")

    def versions():
        found = functions.list_versions_by_function(FunctionName=function)["Versions"]
        return sorted(int(one["Version"]) for one in found if one["Version"] != "$LATEST")

    before = versions()
    live = int(functions.get_alias(FunctionName=function, Name="live")["FunctionVersion"])
    assert len(before) == 3 and live == before[0], (before, live)
    say(operated(aws, "versions.py", "prune", name, "--keep", "1").strip())
    assert versions() == [before[0], before[2]], versions()
    functions.update_alias(FunctionName=function, Name="live", FunctionVersion=str(before[2]))
    say(operated(aws, "versions.py", "prune", name, "--keep", "1").strip())
    assert versions() == [before[0], before[2]], "the version to go back to stays"
    say(operated(aws, "versions.py", "back", name).strip())
    live = int(functions.get_alias(FunctionName=function, Name="live")["FunctionVersion"])
    assert live == before[0], live


def check_relay(aws, deployment, pk):
    """A change that could not be relayed is handed over again, and one whose events are lost is reported."""
    item = aws.client("dynamodb").get_item(TableName=deployment.resources["Table"], Key={"pk": {"S": pk}, "sk": {"S": "#"}})["Item"]
    version = int(item["version"]["N"])
    for failed in (version, version + 1):
        body = {"pk": pk, "sk": "#", "version": failed, "error": "unreadable", "failed_at": "-"}
        aws.client("sqs").send_message(QueueUrl=deployment.resources["RelayDeadLetters"], MessageBody=json.dumps(body))
    printed = operated(aws, "relay.py", "fleet", "--apply", "--discard")
    assert printed.count("was relayed") == 1 and f"the events of version {version + 1} are lost" in printed, printed
    assert "0 messages are left" in printed, printed
    say("a change in the relay's dead-letter queue was handed over")


def check_restore(aws, deployment, pk):
    """The table is restored as infra/README.md describes it: an item that was damaged is copied over, and a new stack is made around
    the restored table."""
    database, cloudformation = aws.client("dynamodb"), aws.client("cloudformation")
    table, restored = deployment.resources["Table"], "fleet-restored"
    key = {"pk": {"S": pk}, "sk": {"S": "#"}}
    item = database.get_item(TableName=table, Key=key)["Item"]
    say(operated(aws, "restore.py", "table", table, restored).strip())
    made = database.describe_table(TableName=restored)["Table"]
    assert made["DeletionProtectionEnabled"] and made["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES", made
    expiry = database.describe_time_to_live(TableName=restored)["TimeToLiveDescription"]
    assert (expiry["TimeToLiveStatus"], expiry["AttributeName"]) == ("ENABLED", "ttl"), expiry
    backups = database.describe_continuous_backups(TableName=restored)["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED", backups
    # A later write damages the item. It stays readable: what the relay cannot read, it would rightly report.
    version = int(item["version"]["N"]) + 1
    damaged = {"M": item["object"]["M"] | {"name": {"S": "damaged"}}}
    database.put_item(TableName=table, Item=item | {"version": {"N": str(version)}, "object": damaged})
    assert "differs" in operated(aws, "restore.py", "copy", restored, table, pk)
    assert database.get_item(TableName=table, Key=key)["Item"]["object"] == damaged, "nothing is written without --apply"
    operated(aws, "restore.py", "copy", restored, table, pk, "--apply")
    copied = {name: value for name, value in item.items() if name not in ("events", "request")}
    assert database.get_item(TableName=table, Key=key)["Item"] == copied | {"version": {"N": str(version + 1)}}
    assert "differs" not in operated(aws, "restore.py", "copy", restored, table, pk)
    check_restore_of_deleted(aws, restored, database.get_item(TableName=restored, Key=key)["Item"])
    say(operated(aws, "restore.py", "adopt", restored, "restored").strip())
    template, _ = stack.root(ROOT / "infra/template.yaml")
    resources, _ = deployment.update("restored", template, {"DeletionProtection": "true"})
    assert resources["Table"] == restored and "Api" in resources, resources
    assert cloudformation.describe_stacks(StackName="restored")["Stacks"][0]["StackStatus"] == "UPDATE_COMPLETE"
    say("the table was restored, a damaged item was copied over, and a stack was made around the restored table")


def check_restore_of_deleted(aws, table, item):
    """A table that was deleted is restored as it was then, with its indexes and settings."""
    database, lost, found = aws.client("dynamodb"), "fleet-lost", "fleet-found"
    operated(aws, "restore.py", "table", table, lost)
    database.update_table(TableName=lost, DeletionProtectionEnabled=False)
    database.delete_table(TableName=lost)
    say(operated(aws, "restore.py", "table", lost, found).strip())
    key = {name: item[name] for name in ("pk", "sk")}
    assert database.get_item(TableName=found, Key=key)["Item"] == item
    made, wanted = (database.describe_table(TableName=name)["Table"] for name in (found, table))
    for member in ("KeySchema", "StreamSpecification", "DeletionProtectionEnabled"):
        assert made[member] == wanted[member], (member, made, wanted)


def check_console(api, origin):
    """Pages of the console's origin may call the API, and pages of no other."""
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,idempotency-key"}
    status, _, headers = api.send("OPTIONS", "/v1/fleets", headers={"Origin": origin, **asked})
    assert status in (200, 204) and headers["Access-Control-Allow-Origin"] == origin, (status, dict(headers))
    assert "POST" in headers["Access-Control-Allow-Methods"], dict(headers)
    assert "idempotency-key" in headers["Access-Control-Allow-Headers"].lower(), dict(headers)
    status, _, headers = api.send("GET", "/v1/fleets", headers={"Origin": origin})
    assert status == 200 and headers["Access-Control-Allow-Origin"] == origin, dict(headers)
    assert "service-request-id" in headers["Access-Control-Expose-Headers"].lower(), dict(headers)
    # The document allows every origin where it is not behind an API Gateway that allows one.
    _, _, headers = api.send("GET", "/v1/openapi.json", headers={"Origin": origin})
    assert headers.get_all("Access-Control-Allow-Origin") == [origin], dict(headers)
    for foreign in ("http://127.0.0.1:1", "https://evil.example", "null"):
        for method, more in (("OPTIONS", asked), ("GET", {})):
            _, _, headers = api.send(method, "/v1/fleets", headers={"Origin": foreign, **more})
            allowed = headers.get("Access-Control-Allow-Origin")
            assert allowed not in (foreign, "*"), f"{foreign} may {method}: {allowed}"
    say(f"the API allows the console's origin {origin}, and no other")


class Unredirected(urllib.request.HTTPRedirectHandler):
    """Shows redirects instead of following them."""

    def redirect_request(self, *_):
        return None


UNREDIRECTED = urllib.request.build_opener(Unredirected)


class Api:
    """The deployed API, with a key."""

    def __init__(self, aws, address, key=None):
        # The host's name is for the gateway; the address is loopback, whatever names mean here.
        self.host = address.split("//")[1]
        self.url = aws.url
        self.key = key

    def send(self, method, path, body=None, headers=None):
        headers = {"Host": self.host, **(headers or {})}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        try:
            answer = UNREDIRECTED.open(request, timeout=30)
        except urllib.error.HTTPError as refused:
            answer = refused
        text = answer.read()
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        # A redirect has no body.
        return answer.status, json.loads(text) if is_json and text else text, answer.headers

    def get(self, path):
        return self.expect(200, "GET", path)

    def post(self, path, body, headers=None):
        return self.expect(200, "POST", path, body, headers)

    def expect(self, status, method, path, body=None, headers=None):
        answered, shown, _ = self.send(method, path, body, headers)
        assert answered == status, f"{method} {path}: {answered} {shown}"
        return shown


class Receiver:
    """Takes webhooks on this machine."""

    def __init__(self):
        self.taken = queue.Queue()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.taken.put((dict(self.headers.items()), body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_port}/hook"
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def wait_for(self, secret, kind, about):
        """The next event of that type about that object, with its signature proved."""
        end = time.monotonic() + 90
        while time.monotonic() < end:
            try:
                headers, body = self.taken.get(timeout=1)
            except queue.Empty:
                continue
            headers = {name.lower(): value for name, value in headers.items()}
            stamp, *given = [part.split("=", 1)[1] for part in headers["service-signature"].split(",")]
            wanted = hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
            assert any(hmac.compare_digest(wanted, one) for one in given), "a webhook with a wrong signature"
            event = json.loads(body)
            if (event["type"], event["data"]["object"]["id"]) == (kind, about):
                return event
        raise AssertionError(f"no {kind} about {about} came")


def moment(minutes):
    return (datetime.now(timezone.utc) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def operate(aws, outputs):
    """What operators do: an account with its key, and stations."""
    functions = aws.client("lambda")

    def invoke(name, payload):
        answer = functions.invoke(FunctionName=name, Payload=json.dumps(payload).encode())
        shown = json.loads(answer["Payload"].read())
        assert "FunctionError" not in answer, f"{name}: {shown}"
        return shown

    sample = json.loads((ROOT / "events/bootstrap-account.json").read_text())
    made = invoke(outputs["BootstrapFunction"], sample)
    live = invoke(outputs["BootstrapFunction"], {"account": made["account"]["id"], "mode": "live"})
    assert live["api_key"]["livemode"] and live["account"]["id"] == made["account"]["id"], live
    for status in ("suspended", "active"):
        changed = invoke(outputs["SetAccountStatusFunction"], {"account": made["account"]["id"], "status": status})
        assert changed["status"] == status, changed
    locations = [
        {
            "country_code": "GB", "party_id": "E2E", "id": f"station-{n}", "name": f"Depot {n}",
            "address": f"{n} Dock Road", "city": "London", "postal_code": "E16 1AA", "country": "GBR",
            "coordinates": {"latitude": f"51.50{n}", "longitude": "-0.128"}, "time_zone": "Europe/London",
            "opening_times": {"twentyfourseven": True}, "last_updated": "2026-01-01T00:00:00Z",
            "evses": [
                {
                    "uid": "1", "status": "AVAILABLE", "capabilities": ["RESERVABLE"],
                    "connectors": [
                        {"id": "1", "standard": "IEC_62196_T2", "power_type": "AC_3_PHASE", "max_voltage": 230,
                         "max_amperage": 32, "max_electric_power": 22000, "tariff_ids": ["flat"]}
                    ],
                }
            ],
        }
        for n in range(30)
    ]  # fmt: skip
    # Every session costs a euro, and every kWh 45 cents.
    prices = [{"type": "FLAT", "price": 1.00, "step_size": 1}, {"type": "ENERGY", "price": 0.45, "step_size": 1}]
    tariff = {
        "country_code": "GB", "party_id": "E2E", "id": "flat", "currency": "EUR", "elements": [{"price_components": prices}],
        "last_updated": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    for name, objects in {"london": locations, "tariffs": [tariff]}.items():
        aws.client("s3").put_object(Bucket=outputs["FilesBucket"], Key=f"stations/{name}.json", Body=json.dumps(objects))
    files = {"key": "stations/london.json", "tariffs": "stations/tariffs.json", "mode": "test"}
    imported = invoke(outputs["ImportFunction"], files)
    assert (imported["imported"], imported["tariffs"], imported["skipped"]) == (len(locations), 1, []), imported
    return made["api_key"]["secret"], made["account"]["id"]


def check_edges(api):
    nobody = Api.__new__(Api)
    nobody.__dict__.update(api.__dict__, key=None)
    status, shown, headers = nobody.send("GET", "/v1/fleets")
    assert (status, shown["type"]) == (401, "authentication_error"), shown
    assert headers["WWW-Authenticate"] == "Bearer" and headers["Service-Request-Id"].startswith("req_")
    status, shown, _ = api.send("GET", "/v1/nothing")
    assert (status, shown["type"]) == (404, "invalid_request_error"), shown
    status, _, headers = api.send("DELETE", "/v1/fleets")
    assert status == 405 and "POST" in headers["Allow"], (status, headers)
    document = nobody.get("/v1/openapi.json")
    assert document["openapi"] == "3.1.0"
    assert b"<html" in nobody.get("/docs")
    assert b"<html" in nobody.get("/docs/quickstart")
    assert b"/docs/quickstart.md" in nobody.get("/llms.txt")


def check_assistants(api, vehicle):
    """The tools for assistants are listed, and one finds a vehicle through the API. Other methods and requests without a key are refused."""

    def call(method, **params):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        status, shown, _ = api.send("POST", "/mcp", body, {"Accept": "application/json, text/event-stream"})
        assert status == 200, shown
        return shown["result"]

    tools = {tool["name"] for tool in call("tools/list")["tools"]}
    assert {"find_vehicle", "reserve_by_need"} <= tools, tools
    plate = api.get(f"/v1/vehicles/{vehicle}")["registration_plate"]
    began = time.monotonic()
    found = call("tools/call", name="find_vehicle", arguments={"query": plate})["structuredContent"]["found"]
    assert vehicle in [one["id"] for one in found], found
    say(f"{len(tools)} tools for assistants; one finds a vehicle in {time.monotonic() - began:.2f} s")
    status, _, headers = api.send("GET", "/mcp")
    assert status == 405 and headers["Allow"] == "POST", (status, headers)
    anonymous = Api.__new__(Api)
    anonymous.__dict__.update(api.__dict__, key=None)
    status, _, headers = anonymous.send("POST", "/mcp", {})
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer"), status


def check_objects(api):
    body = json.loads(json.loads((ROOT / "events/create-fleet.json").read_text())["body"])
    once = api.post("/v1/fleets", body, {"Idempotency-Key": "e2e"})
    again = api.post("/v1/fleets", body, {"Idempotency-Key": "e2e"})
    assert once == again and api.get(f"/v1/fleets/{once['id']}") == once
    fleet = once["id"]
    driver = api.post("/v1/drivers", {"name": "Ada Byron", "email": "ada@fleet.example"})["id"]
    api.post(f"/v1/drivers/{driver}/attach", {"fleet": fleet})
    vehicle = api.post(
        "/v1/vehicles",
        {"fleet": fleet, "registration_plate": "AB12 CDE", "vin": "WVWZZZ1KZAW000001", "battery_capacity": 60000,
         "charging_standard": "Type2", "drivers": [driver]},
    )["id"]  # fmt: skip
    found = api.get("/v1/charging_stations?latitude=51.507&longitude=-0.128&radius=5000&limit=5")
    assert len(found["data"]) == 5, found
    assert [one["id"] for one in api.get(f"/v1/vehicles?fleet={fleet}")["data"]] == [vehicle]
    return fleet, driver, vehicle, found["data"][0]


def reserve(api, driver, vehicle, minutes):
    return api.post(
        "/v1/reservations",
        {"driver": driver, "vehicle": vehicle, "connector_type": ["Type2"], "ideal_start": moment(minutes),
         "ideal_end": moment(minutes + 60), "location": {"latitude": 51.507, "longitude": -0.128, "radius": 5000}},
    )  # fmt: skip


def confirmed(api, id):
    def found():
        shown = api.get(f"/v1/reservations/{id}")
        assert shown["status"] in ("pending", "confirmed"), shown
        return shown if shown["status"] == "confirmed" else None

    return until(f"the confirmation of {id}", found, 90)


def check_reservations(aws, resources, api, account, driver, vehicle, receiver):
    hook = api.post("/v1/webhook_endpoints", {"url": receiver.url, "enabled_events": ["*"]})
    near = reserve(api, driver, vehicle, 20)["id"]
    shown = confirmed(api, near)
    assert shown["charging_station"].startswith("chst_"), shown
    event = receiver.wait_for(hook["secret"], "reservation.confirmed", near)
    say("confirmed: stream, relay, queue, function; webhook delivered")
    logged = until("the log of deliveries", lambda: api.get(f"/v1/webhook_endpoints/{hook['id']}/deliveries")["data"])
    assert any(one["status"] == "succeeded" for one in logged), logged
    assert api.get(f"/v1/events/{event['id']}")["id"] == event["id"]

    # More than a quarter of an hour ahead work waits with EventBridge Scheduler. Time is moved, not waited for: both the
    # schedule and what the row says it waits for.
    far = reserve(api, driver, vehicle, 120)["id"]
    scheduler, group = aws.client("scheduler"), resources["Schedules"]

    def scheduled():
        # Its name goes on with the purpose and the minute.
        found = scheduler.list_schedules(GroupName=group, NamePrefix=far)["Schedules"]
        return scheduler.get_schedule(Name=found[0]["Name"], GroupName=group) if found else None

    schedule = until("the schedule", scheduled)
    due = datetime.strptime(schedule["ScheduleExpression"], "at(%Y-%m-%dT%H:%M:%S)").replace(tzinfo=timezone.utc)
    ahead = (due - datetime.now(timezone.utc)).total_seconds() / 60
    assert 88 < ahead < 91, f"half an hour before the window, not {ahead} min from now"
    aws.client("dynamodb").update_item(
        TableName=resources["Table"],
        Key={"pk": {"S": f"{account}#test#{far}"}, "sk": {"S": "#"}},
        UpdateExpression="SET #object.#state.#next = :now",
        ConditionExpression="attribute_exists(#object.#state.#next)",
        ExpressionAttributeNames={"#object": "object", "#state": "state", "#next": "next_attempt"},
        ExpressionAttributeValues={":now": {"S": moment(0).replace("Z", ".000Z")}},
    )
    wanted = ("Name", "GroupName", "ScheduleExpressionTimezone", "FlexibleTimeWindow", "Target", "ActionAfterCompletion")
    kept = {name: schedule[name] for name in wanted}
    now = datetime.now(timezone.utc).strftime("at(%Y-%m-%dT%H:%M:%S)")
    scheduler.update_schedule(**kept, ScheduleExpression=now)
    confirmed(api, far)
    receiver.wait_for(hook["secret"], "reservation.confirmed", far)
    say("confirmed: Scheduler, queue, function; webhook delivered")
    return far


def check_session(api, driver, vehicle, station):
    method = api.post("/v1/payment_methods", {"type": "card", "token": "tok_success", "driver": driver})["id"]
    api.post(f"/v1/drivers/{driver}", {"preferences": {"default_payment_method": method}})
    connector = station["connectors"][0]["id"]
    session = api.post(
        "/v1/charging_sessions",
        {"charging_station": station["id"], "connector": connector, "driver": driver, "vehicle": vehicle,
         "payment_method": method},
    )["id"]  # fmt: skip
    assert api.get(f"/v1/charging_stations/{station['id']}")["connectors"][0]["status"] == "occupied"
    stopped = api.post(f"/v1/charging_sessions/{session}/stop", {})
    assert (stopped["status"], stopped["amount_due"]) == ("completed", 100), stopped
    assert api.get(f"/v1/charging_stations/{station['id']}")["connectors"][0]["status"] == "available"
    paid = until("the charge", lambda: api.get(f"/v1/transactions?driver={driver}")["data"])
    assert [(one["amount"], one["status"]) for one in paid] == [(100, "succeeded")], paid
    say("a session was started, stopped and paid for")


def check_report(api):
    report = api.post("/v1/reports", {})["id"]

    def made():
        shown = api.get(f"/v1/reports/{report}")
        assert shown["status"] != "failed", shown
        return shown if shown["status"] == "succeeded" else None

    shown = until("the report", made)
    with urllib.request.urlopen(shown["url"], timeout=10) as file:
        content = file.read()
    assert hashlib.sha256(content).hexdigest() == shown["sha256"]
    say("a report was fetched by its signed link")


class Samples:
    """The sample events of all routes, with ids of objects made for them."""

    def __init__(self, api, account, stations):
        self.api, self.account, self.stations = api, account, stations
        self.number = 0
        self.events = {file.stem: json.loads(file.read_text()) for file in sorted((ROOT / "events").glob("*.json"))}

    def make(self, kind, route):
        """An object of the kind, which the ones made so far for this sample belong to."""
        api, made, self.number = self.api, self.made, self.number + 1
        if kind in made:
            return made[kind]

        def own(kind):
            return self.make(kind, route)

        def sample():
            """An object that is created with the sample body of its resource."""
            places = (re.match(f"(/v1/[a-z_]+)/{kind}_", event.get("rawPath", "")) for event in self.events.values())
            place = next(place[1] for place in places if place)
            event = next(event for event in self.events.values() if event.get("routeKey") == f"POST {place}")
            return api.post(place, json.loads(self.placed(event["body"], route)))["id"]

        def driver():
            id = api.post("/v1/drivers", {"name": "Ada Byron", "email": "ada@fleet.example"})["id"]
            if route != "attach-driver":
                api.post(f"/v1/drivers/{id}/attach", {"fleet": own("flt")})
            return id

        def vehicle():
            id = api.post(
                "/v1/vehicles",
                {"fleet": own("flt"), "registration_plate": f"E2E {self.number}", "vin": f"WVWZZZ1KZAW{self.number:06}",
                 "battery_capacity": 60000, "charging_standard": "Type2", "drivers": []},
            )["id"]  # fmt: skip
            api.post(f"/v1/vehicles/{id}/telemetry", {"battery": {"level": 40}})
            return id

        def session():
            # Without a payment method, so that it is paid with an invoice.
            return api.post(
                "/v1/charging_sessions",
                {"charging_station": own("chst"), "connector": "1-1", "driver": own("drv"), "vehicle": own("veh")},
            )["id"]

        def invoice():
            id = api.post("/v1/invoices", {"period_start": moment(-60), "period_end": moment(1)})["id"]
            if route in (
                "pay-invoice", "void-invoice", "retrieve-invoice-document", "create-credit-note", "retrieve-credit-note",
                "retrieve-credit-note-document",
            ):
                api.post(f"/v1/charging_sessions/{own('cs')}/stop", {})
                api.expect(200, "DELETE", f"/v1/invoices/{id}")
                id = api.post("/v1/invoices", {"period_start": moment(-60), "period_end": moment(1)})["id"]
                api.post(f"/v1/invoices/{id}/finalize", {})
            return id

        def charge():
            body = {"type": "card", "token": "tok_success", "driver": own("drv")}
            session = api.post(
                "/v1/charging_sessions",
                {"charging_station": own("chst"), "connector": "1-1", "driver": own("drv"), "vehicle": own("veh"),
                 "payment_method": api.post("/v1/payment_methods", body)["id"]},
            )["id"]  # fmt: skip
            api.post(f"/v1/charging_sessions/{session}/stop", {})
            return until("the charge", lambda: api.get(f"/v1/transactions?driver={own('drv')}")["data"])[0]["id"]

        def transaction():
            if route == "refund-transaction":
                return charge()
            method = api.post("/v1/payment_methods", {"type": "card", "token": "tok_success"})["id"]
            api.post(f"/v1/drivers/{own('drv')}/top_up", {"amount": 100, "payment_method": method})
            return api.get(f"/v1/transactions?driver={own('drv')}")["data"][0]["id"]

        def estimation():
            return api.post(
                "/v1/estimations",
                {"charging_station": own("chst"), "vehicle": own("veh"), "battery_level": 20, "battery_target_level": 80},
            )["id"]  # fmt: skip

        def endpoint():
            id = api.post("/v1/webhook_endpoints", {"url": self.hook, "enabled_events": ["ping"]})["id"]
            if route == "retrieve-webhook-endpoint-replay":
                api.post(f"/v1/webhook_endpoints/{id}/replay", {"from": moment(-60)})
            return id

        def batch():
            bodies = [{"name": "Ada Byron", "email": "ada@fleet.example"}, {"name": "Nobody"}]
            id = api.post("/v1/batches", {"operation": "create_driver", "bodies": bodies})["id"]
            shown = lambda: api.get(f"/v1/batches/{id}")  # noqa: E731
            until("the batch", lambda: shown()["status"] == "completed")
            assert (shown()["succeeded"], shown()["failed"]) == (1, 1), shown()
            return id

        makers = {
            "acct": lambda: self.account,
            "bat": batch,
            "ccd": lambda: api.post("/v1/charge_cards", {"uid": f"04A1{self.number:08X}", "driver": own("drv")})["id"],
            "chst": lambda: self.stations[self.number % len(self.stations)],
            "cs": session,
            "drv": driver,
            "est": estimation,
            "evt": lambda: api.get("/v1/events?limit=1")["data"][0]["id"],
            "inv": invoice,
            "pm": lambda: api.post("/v1/payment_methods", {"type": "card", "token": "tok_success"})["id"],
            "crn": lambda: api.post("/v1/credit_notes", {"invoice": own("inv"), "amount": 1})["id"],
            "res": lambda: reserve(api, own("drv"), own("veh"), 600)["id"],
            "txn": transaction,
            "veh": vehicle,
            "wh": endpoint,
        }
        made[kind] = makers.get(kind, sample)()
        return made[kind]

    def placed(self, text, route):
        """A text of a sample event with the ids of objects that exist."""
        for known in sorted(set(re.findall(r"\b(?:[a-z]+)_[0-9a-f]{32}\b", text))):
            text = text.replace(known, self.make(known.split("_")[0], route))
        return text

    # How the codes of refusals end that follow from the state of an object, besides 409. Some states take a day, or a charging network.
    OF_STATES = ("_state_conflict", "_update_invalid_state")

    def check(self, hook):
        self.hook, checked, networks, refused = hook, 0, 0, []
        for route, event in self.events.items():
            if "rawPath" not in event or event["routeKey"] == "$default":
                continue
            if route.startswith("ocpi-"):
                self.check_network_request(route, event)
                networks += 1
                continue
            self.made = {}
            text = self.placed(" ".join([event["rawPath"], event["rawQueryString"], event.get("body") or ""]), route)
            text = text.replace("2027-01-15T09", moment(300)[:13]).replace("2027-01-15T10", moment(360)[:13])
            path, query, body = text.split(" ", 2)
            payload = json.loads(body) if body else None
            if payload and "connector" in payload:
                payload["connector"] = "1-1"
            headers = {"Accept": event["headers"].get("accept", "*/*")}
            if body:
                headers["Idempotency-Key"] = f"sample-{route}"
            status, shown, _ = self.api.send(
                event["requestContext"]["http"]["method"],
                path + (f"?{query}" if query else ""),
                payload,
                headers,
            )
            if status not in (200, 302, 409) and not (shown.get("code") or "").endswith(self.OF_STATES):
                refused.append(f"{route}: {status} {shown}")
            # A session that goes on would keep its connector from the samples that follow.
            for session in {self.made.get("cs"), shown.get("id") if isinstance(shown, dict) else None}:
                if session and session.startswith("cs_"):
                    self.api.send("POST", f"/v1/charging_sessions/{session}/stop", {})
            if "wh" in self.made and route != "delete-webhook-endpoint":
                self.api.expect(200, "DELETE", f"/v1/webhook_endpoints/{self.made['wh']}")
            checked += 1
        assert not refused, "\n".join(refused)
        say(f"{checked} routes answered their sample events; {networks} of OCPI refused an unknown party")

    def check_network_request(self, route, event):
        """No charging network has registered here, so its request is refused, in the shape of OCPI."""
        nobody = Api.__new__(Api)
        nobody.__dict__.update(self.api.__dict__, key=None)
        http_request = event["requestContext"]["http"]
        headers = {"Authorization": event["headers"]["authorization"]}
        status, shown, _ = nobody.send(http_request["method"], event["rawPath"], None, headers)
        assert status == 401 and "status_code" in shown, f"{route}: {status} {shown}"


# How a test ends that needs more than a deployed service offers to its clients: tests/lib.rs.
SKIPPED = 77
# These look at the code, not at a service; `every_route` asks for each one's refusals, which no deployment has been tried with. The uids of
# charge cards are unique in a deployment, and the tests of cards use the same ones. Those of batches create hundreds of objects, whose changes keep
# the local AWS busy while the tests after them run; a batch is carried out before its samples are sent.
ELSEWHERE = ("batches", "capacity", "charge_cards", "codes", "every_route", "layout", "openapi", "samples", "template", "versions")


def check_api(aws, outputs, key, tests):
    """The tests of the API, each in a process of its own."""
    listed = subprocess.run([tests, "--list"], check=True, capture_output=True, text=True).stdout
    names = [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]
    names = [name for name in names if name.split("::")[0] not in ELSEWHERE]
    id = outputs["ApiUrl"].split("//")[1].split(".")[0]
    environment = {**os.environ, "API_URL": f"http://{id}.execute-api.localhost:{aws.port}", "API_KEY": key, "RUST_BACKTRACE": "0"}

    def run(name):
        ran = subprocess.run(
            [tests, "--exact", name, "--nocapture"], env=environment, capture_output=True, text=True, timeout=120
        )
        return name, ran.returncode, ran.stdout + ran.stderr

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        ran = list(pool.map(run, names))
    # The local AWS is slow when it is asked much at once, and a service that cannot reach its table in time asks its clients to repeat the
    # request (503), or is ended by Lambda's time-out. A test that met that is run again, alone, when what the others have left is done.
    sign = re.compile(r"\b503\b|Sandbox\.Timedout")
    for pause in (20, 60):
        busy = [name for name, status, output in ran if status not in (0, SKIPPED) and sign.search(output)]
        if not busy:
            break
        say(f"{len(busy)} tests met a busy service and are run again")
        time.sleep(pause)
        again = {name: (name, status, output) for name, status, output in map(run, busy)}
        ran = [again.get(name, (name, status, output)) for name, status, output in ran]
    failed = [(name, output) for name, status, output in ran if status not in (0, SKIPPED)]
    for name, output in failed:
        print(f"--- {name}\n{output[-4000:]}", file=sys.stderr)
    assert not failed, f"{len(failed)} tests of the API failed: {', '.join(name for name, _ in failed)}"
    skipped = collections.Counter(
        re.search(r"skipped: (.*)", output).group(1) for _, status, output in ran if status == SKIPPED
    )
    passed = len(ran) - skipped.total()
    assert passed > 80, f"only {passed} tests of the API ran"
    say(f"{passed} tests of the API passed; SKIPPED {skipped.total()}:")
    for reason, count in skipped.items():
        say(f"    {count}, {reason}")


WRITES = ("put_item", "update_item", "delete_item", "batch_write_item", "transact_write_items")


def attempt(table, database, action, pk):
    """Tries a write with a role's credentials. Says whether IAM let it through."""
    key = {"pk": {"S": pk}, "sk": {"S": "never there"}}
    try:
        match action:
            case "put_item":
                database.put_item(TableName=table, Item=key, ConditionExpression="attribute_exists(pk)")
            case "update_item":
                database.update_item(
                    TableName=table, Key=key, UpdateExpression="SET a = :a", ConditionExpression="attribute_exists(pk)",
                    ExpressionAttributeValues={":a": {"S": "a"}},
                )  # fmt: skip
            case "delete_item":
                database.delete_item(TableName=table, Key=key)
            case "batch_write_item":
                database.batch_write_item(RequestItems={table: [{"DeleteRequest": {"Key": key}}]})
            case "transact_write_items":
                database.transact_write_items(TransactItems=[{"Delete": {"TableName": table, "Key": key}}])
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code == "AccessDeniedException":
            return False
        assert code == "ConditionalCheckFailedException", error
    return True


def check_operators(aws, deployment, account):
    """An account is exported and erased by functions with their own roles: nothing of it is left in the table, the bucket and the
    scheduler. The secrets of the others are encrypted anew."""
    functions, database, s3, scheduler = (aws.client(name) for name in ("lambda", "dynamodb", "s3", "scheduler"))
    table, bucket, group = (deployment.resources[name] for name in ("Table", "Files", "Schedules"))

    def invoke(name, payload):
        """Invokes a function until it does not return a cursor any more."""
        for _ in range(100):
            answer = functions.invoke(FunctionName=f"fleet-{name}:live", Payload=json.dumps(payload).encode())
            shown = json.loads(answer["Payload"].read())
            assert "FunctionError" not in answer, f"{name}: {shown}"
            if shown["cursor"] is None:
                return shown
            payload = payload | {"cursor": shown["cursor"]}
        raise AssertionError(f"{name} never ends")

    def keys(prefix):
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        return [one["Key"] for page in pages for one in page.get("Contents", [])]

    def left(id):
        pages = database.get_paginator("scan").paginate(TableName=table)
        rows = [row for page in pages for row in page["Items"] if id in json.dumps(row, default=str)]
        schedules = [one for page in scheduler.get_paginator("list_schedules").paginate(GroupName=group) for one in page["Schedules"]]
        names = {row["pk"]["S"].split("#")[-1] for row in rows}
        return rows, keys(f"{id}/"), [one["Name"] for one in schedules if one["Name"].split("-")[0] in names]

    made = invoke_once(functions, "fleet-bootstrap-account:live", json.loads((ROOT / "events/bootstrap-account.json").read_text()))
    id, key = made["account"]["id"], made["api_key"]["secret"]
    api = Api(aws, deployment.outputs["ApiUrl"], key)
    fleet, driver, vehicle, _ = check_objects(api)
    reservation = reserve(api, driver, vehicle, 600)["id"]
    until("the schedule", lambda: any(name.startswith(reservation) for name in left(id)[2]), 180)
    check_report(api)
    assert len(keys(f"{id}/")) == 1

    exported = invoke("export-account", {"account": id, "mode": "test", "rows_per_page": 100, "max_pages": 5})
    lines = [s3.get_object(Bucket=bucket, Key=one)["Body"].read() for one in keys(exported["folder"]) if one.endswith(".jsonl")]
    objects = [json.loads(line) for part in lines for line in part.splitlines()]
    assert {fleet, driver, vehicle, reservation} <= {one.get("id") for one in objects}, objects
    assert len(objects) == exported["objects"], exported

    api.post(f"/v1/reservations/{reservation}/cancel", {})
    invoke_once(functions, "fleet-set-account-status:live", {"account": id, "status": "closed"})
    # Five minutes are moved, not waited for.
    row = {"pk": {"S": f"ACCOUNT#{id}"}, "sk": {"S": "#"}}
    database.update_item(
        TableName=table, Key=row, UpdateExpression="SET #internal.closed = :then", ExpressionAttributeNames={"#internal": "internal"},
        ExpressionAttributeValues={":then": {"S": moment(-6).replace("Z", ".000Z")}},
    )  # fmt: skip
    erased = invoke("erase-account", {"account": id, "rows_per_page": 200, "max_pages": 5})
    assert erased["status"] == "erased" and erased["rows"] > 10 and erased["files"] > 1, erased
    assert left(id) == ([], [], []), left(id)
    left_over = scheduler.list_schedules(GroupName=group, NamePrefix=reservation)["Schedules"]
    assert not left_over, left_over
    done = invoke("reencrypt-secrets", {})
    assert (done["status"], done["unreadable"]) == ("succeeded", {}), done
    say(f"an account of {exported['objects']} objects was exported and erased: {erased['rows']} rows, {erased['files']} files")


def invoke_once(functions, name, payload):
    answer = functions.invoke(FunctionName=name, Payload=json.dumps(payload).encode())
    shown = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, f"{name}: {shown}"
    return shown


def invoke_deployed(functions, name, payload):
    """Invokes a function of the service by its alias."""
    return invoke_once(functions, f"fleet-{name}:live", payload)


def may_read(table, database, row):
    """Whether IAM lets a role read a row of the table, or a partition of an index that is given as INDEX/ATTRIBUTE/KEY."""
    try:
        if "/" in row:
            index, attribute, key = row.split("/")
            database.query(
                TableName=table, IndexName=index, KeyConditionExpression=f"{attribute} = :pk",
                ExpressionAttributeValues={":pk": {"S": key}},
            )  # fmt: skip
        elif row == "*":
            database.scan(TableName=table, Limit=1)
        else:
            database.get_item(TableName=table, Key={"pk": {"S": row}, "sk": {"S": "#"}})
    except ClientError as error:
        assert error.response["Error"]["Code"] == "AccessDeniedException", error
        return False
    return True


def check_access(aws, resources, functions, account):
    """The roles themselves, without the functions that have them."""
    identities, tokens, table = aws.client("iam"), aws.client("sts"), resources["Table"]
    owner = tokens.get_caller_identity()["Account"]

    def as_role(id):
        name = resources[f"{id}Role"]
        trust = {
            "Version": "2012-10-17",
            "Statement": [
                {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{owner}:root"}, "Action": "sts:AssumeRole"}
            ],
        }
        before = identities.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
        identities.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(trust))
        role = f"arn:aws:iam::{owner}:role/{name}"
        given = tokens.assume_role(RoleArn=role, RoleSessionName="e2e")["Credentials"]
        identities.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(before))
        return aws.client("dynamodb", given)

    prefix = f"{account}#test#"
    rows = [f"{prefix}flt_1", f"{prefix}drv_1", f"{prefix}IDEM#1", f"ACCOUNT#{account}", "test#chst_1", "test#CAL#1"]
    reading = []
    for id, function in functions.items():
        if function["Properties"]["Description"].startswith("GET /v1/"):
            reading.append(id)
    for id in reading:
        database = as_role(id)
        assert not may_read(table, database, "*"), f"{id} may scan the table"
        for action in WRITES:
            for row in rows:
                assert not attempt(table, database, action, row), f"{id} may {action} {row}"
        assert attempt(table, database, "update_item", f"{prefix}RATE"), f"{id} cannot count requests"
    say(f"{len(reading)} functions that read were refused {len(reading) * len(rows) * len(WRITES)} writes")
    database = as_role("CreateFleet")
    allowed = {row for row in rows if attempt(table, database, "put_item", row)}
    assert allowed == {rows[0], rows[2]}, f"create-fleet may write {allowed}"
    assert not attempt(table, as_role("ShowDocs"), "update_item", f"{prefix}RATE"), "show-docs has no use for the table"
    say("a function that makes fleets may write fleets and idempotency records, nothing else")
    check_reads(table, as_role, account, prefix)
    exporting, erasing = as_role("ExportAccount"), as_role("EraseAccount")
    assert may_read(table, exporting, "*") and may_read(table, erasing, "*")
    for action in WRITES:
        assert not any(attempt(table, exporting, action, row) for row in rows), f"export-account may {action}"
    erasable = [row for row in rows if attempt(table, erasing, "batch_write_item", row)]
    assert "test#chst_1" not in erasable and rows[0] in erasable, erasable


def check_reads(table, as_role, account, prefix):
    """Functions read their own kind of rows, by their own index, and no others."""
    recorded = json.loads((ROOT / "infra/access.json").read_text())
    listed = [place for place in recorded.get("list-fleets", []) if place.startswith("Query index/")]
    if not listed:
        say("SKIPPED: reads are not limited, because infra/access.json has no calls of list-fleets")
        return
    index = listed[0].split()[1].removeprefix("index/")
    fleets, drivers = (f"{index}/{index}_pk/{prefix}{kind}" for kind in ("fleet", "driver"))
    places = [f"{prefix}flt_1", f"{prefix}inv_1", f"KEY#{account}#1", fleets, drivers]
    for id, wanted in {"RetrieveFleet": places[:1], "ListFleets": [fleets], "RetrieveInvoice": places[1:2]}.items():
        database = as_role(id)
        readable = [place for place in places if may_read(table, database, place)]
        assert readable == wanted, f"{id} may read {readable}"
    say("functions that read may read their own kind of rows, by their own index, and no others")


def check_troubles(aws, resources, log):
    """Nothing may have failed on the way, unseen by clients."""
    log.flush()
    lines = [line for line in pathlib.Path(log.name).read_text().splitlines() if '"level":"ERROR"' in line]
    # The local AWS is slow when it is asked much at once. A message that met that comes again, or ends among the dead letters.
    failed = [line for line in lines if "a dependency is unavailable" not in line]
    assert not failed, "\n".join(failed)
    queues = aws.client("sqs")
    for id, url in resources.items():
        if id.endswith("DeadLetters"):
            counted = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
            assert counted["Attributes"]["ApproximateNumberOfMessages"] == "0", f"{id} is not empty"


def serve(deployment, key):
    """Serves the console, as another static host would, until the process is interrupted."""
    with tempfile.TemporaryDirectory() as folder:
        console = pathlib.Path(folder) / "console"
        id = deployment.outputs["ApiUrl"].split("//")[1].split(".")[0]
        api = f"http://{id}.execute-api.localhost:{deployment.aws.port}"
        subprocess.run([ROOT / "infra/console/build", api, console], check=True, stdout=subprocess.DEVNULL)
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=console)
        port = int(deployment.console.rsplit(":", 1)[1])
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
        say(f"the API is at {api}, the console at {deployment.console}; its key is {key}; Ctrl-C ends both")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("interrupted")


def main():
    executables, *more, tests = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder, open(pathlib.Path(folder) / "aws.log", "w+") as log:
        aws = Aws(log)
        say(f"a local AWS at {aws.url}")
        try:
            deployment = Deployment(aws, executables)
            resources, outputs = deployment.resources, deployment.outputs
            say(f"{1 + len(deployment.nested)} stacks with {len(deployment.functions)} functions")
            key, account = operate(aws, outputs)
            say("an account with its key, and stations")
            if tests == "--serve":
                return serve(deployment, key)
            api = Api(aws, outputs["ApiUrl"], key)
            check_edges(api)
            fleet, driver, vehicle, station = check_objects(api)
            say("fleet, driver, vehicle")
            check_assistants(api, vehicle)
            invoke = functools.partial(invoke_deployed, aws.client("lambda"))
            walk = network.Walk(more[0], api, invoke, until, moment, say)
            receiver = Receiver()
            check_reservations(aws, resources, api, account, driver, vehicle, receiver)
            check_session(api, driver, vehicle, station)
            check_report(api)
            stations = [one["id"] for one in api.get("/v1/charging_stations?limit=100")["data"] if not one["network"]]
            Samples(api, account, stations[:-1]).check(receiver.url)
            check_upgrade(aws, deployment, api)
            check_versions(aws)
            check_console(api, deployment.console)
            check_operators(aws, deployment, account)
            check_relay(aws, deployment, f"{account}#test#{fleet}")
            check_restore(aws, deployment, f"{account}#test#{fleet}")
            check_access(aws, resources, deployment.functions, account)
            # Last, because the relay needs minutes for what it leaves in the stream.
            check_api(aws, outputs, key, tests)
            check_troubles(aws, resources, log)
            walk.end()
        except BaseException:
            log.flush()
            lines = pathlib.Path(log.name).read_text().splitlines()
            troubles = [line for line in lines if re.search("AccessDenied|ERROR|WARN", line)]
            print("\n".join(troubles[-60:] + lines[-60:]), file=sys.stderr)
            raise
        finally:
            aws.stop()
    say("the deployed service works")


if __name__ == "__main__":
    main()
