"""Runs the executable as Lambda does, without Lambda: behind a runtime API of its own, on the table of the local runner, over
TLS, with the share of a processor that Lambda gives to a function of so much memory. Prints the table of infra/speed/README.md.

python measure.py path/to/functions path/to/local [--update] [--cold N] [--warm N]

With --peer, another executable of a Lambda function that reads one item is measured in turns with ours, on the same table
engine: --peer-seed is a JSON file of the calls that make its table, such as [["CreateTable", {...}], ["PutItem", {...}]], and
--peer-event the event that it answers with status 200. Its TABLE_NAME is that of the table, and its RUST_LOG is `info`, so that it logs what ours logs.
"""

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import pathlib
import re
import selectors
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zipfile
from datetime import datetime, timedelta, timezone

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
README = ROOT / "infra/speed/README.md"
MARKS = ("<!-- speed -->\n", "<!-- /speed -->")
# How much memory makes one processor, and the period in which Lambda hands it out.
MEGABYTES_PER_CPU, PERIOD_US = 1769, 20_000
# The system's roots: reading them is part of the cold start of an executable that does not compile them in.
ROOTS = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")


def message(buffer):
    """The first message of HTTP/1.1 in the buffer: its first line, headers, body and the rest. None while it is incomplete."""
    head, end, rest = buffer.partition(b"\r\n\r\n")
    if not end:
        return None
    first, *lines = head.split(b"\r\n")
    headers = {name.strip().lower().decode(): value.strip().decode() for name, _, value in (one.partition(b":") for one in lines)}
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while True:
            size, end, rest = rest.partition(b"\r\n")
            if not end or len(rest) < int(size, 16) + 2:
                return None
            length = int(size, 16)
            body, rest = body + rest[:length], rest[length + 2 :]
            if length == 0:
                return first.decode(), headers, body, rest
    length = int(headers.get("content-length", 0))
    if len(rest) < length:
        return None
    return first.decode(), headers, rest[:length], rest[length:]


def certificates(folder):
    """Makes an authority and a certificate of localhost. Returns two files of roots: the authority alone, which an executable
    adds to the roots that it compiles in, and the authority among the roots of the system."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    (folder / "extensions").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=speed", "-days", "1")
    openssl("req", *key, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=localhost")
    signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "extensions", "-days", "1"]
    openssl("x509", "-req", "-in", "request.pem", "-out", "certificate.pem", *signing)
    roots = next((pathlib.Path(path).read_text() for path in ROOTS if os.path.exists(path)), "")
    bundle = folder / "roots.pem"
    bundle.write_text(roots + (folder / "ca.pem").read_text())
    return folder / "ca.pem", bundle


class Table(multiprocessing.Process):
    """The table behind TLS, in a process of its own. Notes the calls while `take` has said so."""

    def __init__(self, upstream, folder):
        super().__init__(daemon=True)
        self.host = upstream.rsplit("/", 1)[1]
        self.upstream = self.host.split(":")
        self.folder = folder
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.control, self.controlled = multiprocessing.Pipe()
        self.noting, self.noted, self.connections = False, [], 0

    def take(self, noting):
        """What was noted and how many connections were made since the last time, and whether to note from now on."""
        self.control.send(noting)
        return self.control.recv()

    def run(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "certificate.pem", self.folder / "key.pem")
        context.set_alpn_protocols(["http/1.1"])
        threading.Thread(target=self.obey, daemon=True).start()
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.pass_on, args=(client, context), daemon=True).start()

    def obey(self):
        while True:
            self.noting = self.controlled.recv()
            self.controlled.send((self.noted, self.connections))
            self.noted, self.connections = [], 0

    def pass_on(self, client, context):
        with contextlib.suppress(OSError):
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client = context.wrap_socket(client, server_side=True)
            table = socket.create_connection(self.upstream)
            table.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            incoming = outgoing = b""
            while True:
                while (request := message(incoming)) is None:
                    if not (more := client.recv(1 << 20)):
                        return
                    incoming += more
                first, headers, body, rest = request
                incoming = rest
                # The table answers under its own address only.
                headers = {**headers, "host": self.host}
                action = headers.get("x-amz-target", "").rsplit(".", 1)[-1]
                if self.noting and action:
                    body = json.dumps({**json.loads(body), "ReturnConsumedCapacity": "INDEXES"}).encode()
                    headers["content-length"] = str(len(body))
                lines = [first, *(f"{name}: {value}" for name, value in headers.items()), "", ""]
                table.sendall("\r\n".join(lines).encode() + body)
                while (answer := message(outgoing)) is None:
                    if not (more := table.recv(1 << 20)):
                        return
                    outgoing += more
                received, outgoing = outgoing, b""
                if self.noting and action:
                    self.noted.append((action, capacity(json.loads(answer[2]))))
                client.sendall(received)


def capacity(answer):
    found = answer.get("ConsumedCapacity", [])
    return sum(one["CapacityUnits"] for one in (found if isinstance(found, list) else [found]))


class Runtime:
    """The runtime API of Lambda, for one process at a time."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.buffers = {}
        self.waiting = None

    def address(self):
        return "127.0.0.1:%d" % self.listener.getsockname()[1]

    def close_connections(self):
        """Closes every connection of a process that has ended, those included that nobody has accepted: the next process would
        be served on them otherwise."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.listener.accept()[0].close()
        for one in list(self.buffers):
            self.selector.unregister(one)
            one.close()
        self.buffers, self.waiting = {}, None

    def until(self, process, reached):
        """Serves until the process has asked for the next event or answered one."""
        end = time.monotonic() + 20
        while not reached():
            assert process.poll() is None, f"the executable has ended with {process.returncode}"
            assert time.monotonic() < end, "no answer"
            for key, _ in self.selector.select(0.5):
                if key.fileobj is self.listener:
                    connection, _ = self.listener.accept()
                    connection.setblocking(True)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self.selector.register(connection, selectors.EVENT_READ)
                    self.buffers[connection] = b""
                else:
                    self.read(key.fileobj)

    def read(self, connection):
        more = connection.recv(1 << 20)
        if not more:
            self.selector.unregister(connection)
            del self.buffers[connection]
            return
        self.buffers[connection] += more
        while (request := message(self.buffers[connection])) is not None:
            first, _, body, self.buffers[connection] = request
            if first.startswith("GET") and "/invocation/next" in first:
                self.waiting = connection
            else:
                self.answered_at = time.perf_counter_ns()
                self.answer = body if "/response " in first else first.encode() + body
                connection.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}")

    def ready(self, process):
        self.until(process, lambda: self.waiting)

    def invoke(self, process, event):
        """The answer and how long it took, in nanoseconds."""
        self.ready(process)
        body = json.dumps(event).encode()
        head = (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nLambda-Runtime-Aws-Request-Id: 1\r\n"
            f"Lambda-Runtime-Deadline-Ms: {int(time.time() * 1000) + 10_000}\r\n"
            "Lambda-Runtime-Invoked-Function-Arn: arn:aws:lambda:eu-west-1:123456789012:function:speed\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        connection, self.waiting, self.answer = self.waiting, None, None
        started = time.perf_counter_ns()
        connection.sendall(head.encode() + body)
        self.until(process, lambda: self.answer is not None)
        answer = json.loads(self.answer)
        assert answer.get("statusCode") == 200, answer
        return answer, self.answered_at - started


class Share:
    """The share of a processor that comes with so much memory. Lambda grants it after the start, which has a whole one."""

    def __init__(self, megabytes):
        common, own = pathlib.Path("/sys/fs/cgroup"), f"speed-{os.getpid()}-{megabytes}"
        quota = PERIOD_US * megabytes // MEGABYTES_PER_CPU
        if (common / "cgroup.controllers").exists():
            self.folder = common / own
            self.folder.mkdir()
            (self.folder / "cpu.max").write_text(f"{quota} {PERIOD_US}")
        else:
            self.folder = common / "cpu" / own
            self.folder.mkdir()
            (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.folder / "cpu.cfs_quota_us").write_text(str(quota))

    def holds(self, process):
        (self.folder / "cgroup.procs").write_text(str(process.pid))

    def close(self):
        for _ in range(50):
            with contextlib.suppress(OSError):
                return self.folder.rmdir()
            time.sleep(0.1)


class Measured:
    """The executable with everything around it."""

    def __init__(self, executable, table, roots, service, table_name=None):
        self.executable, self.table, self.runtime = executable, table, Runtime()
        self.environment = {
            "AWS_LAMBDA_RUNTIME_API": self.runtime.address(), "_HANDLER": "", "AWS_REGION": "eu-west-1",
            "AWS_LAMBDA_FUNCTION_NAME": "speed", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128",
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST", "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/speed", "AWS_LAMBDA_LOG_STREAM_NAME": "speed",
            "AWS_LAMBDA_LOG_FORMAT": "JSON", "AWS_LAMBDA_LOG_LEVEL": "INFO", "LANG": "en_US.UTF-8",
            "PATH": "/usr/local/bin:/usr/bin:/bin", "TZ": ":UTC",
            "AWS_ACCESS_KEY_ID": service.access_key, "AWS_SECRET_ACCESS_KEY": "local", "AWS_SESSION_TOKEN": "local" * 200,
            "AWS_ENDPOINT_URL_DYNAMODB": f"https://localhost:{table.port}", "SSL_CERT_FILE": str(roots),
            "TABLE_NAME": table_name or service.name, "RATE_TEST": "1000000",
        }  # fmt: skip

    @contextlib.contextmanager
    def process(self, handler, **settings):
        log = open(os.devnull, "w")
        started = time.perf_counter_ns()
        environment = {**self.environment, "_HANDLER": handler, **settings}
        process = subprocess.Popen([self.executable], env=environment, stdout=log, stderr=log)
        process.started = started
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            self.runtime.close_connections()

    def cold(self, handler, event, share=None):
        """Milliseconds from the start to the first answer, of them until it was ready for it, and of processor time."""
        with self.process(handler) as process:
            self.runtime.ready(process)
            ready = time.perf_counter_ns()
            if share:
                share.holds(process)
            self.runtime.invoke(process, event())
            wall, used = self.runtime.answered_at - process.started, processor_time(process)
            return wall / 1e6, (ready - process.started) / 1e6, used / 1e6

    def warm(self, handler, event, times):
        """Microseconds of processor time for one event, the median from event to answer, and peak memory in MB."""
        with self.process(handler) as process:
            for _ in range(20):
                self.runtime.invoke(process, event())
            self.table.take(False)
            self.runtime.ready(process)
            before, walls = processor_time(process), []
            for _ in range(times):
                walls.append(self.runtime.invoke(process, event())[1])
            self.runtime.ready(process)
            used = (processor_time(process) - before) / times
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            peak = int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024
            return used / 1e3, statistics.median(walls) / 1e3, peak

    def calls(self, handler, event):
        """The calls of the table for an event whose key is known, with their capacity, and connections from the start on."""
        self.table.take(False)
        with self.process(handler) as process:
            self.runtime.invoke(process, event())
            self.runtime.ready(process)
            _, connections = self.table.take(True)
            self.runtime.invoke(process, event())
            self.runtime.ready(process)
            noted, more = self.table.take(False)
            return noted, connections + more


    def limited(self, handler, event, rate, times):
        """The calls of the table for so many events at a little less than the rate that an account is allowed. The other figures are those
        of an account whose rate is never reached, for which tokens are hardly ever reserved."""
        with self.process(handler, RATE_TEST=str(rate)) as process:
            self.runtime.invoke(process, event())
            self.table.take(True)
            started = time.monotonic()
            for number in range(times):
                time.sleep(max(0, started + number / (0.9 * rate) - time.monotonic()))
                self.runtime.invoke(process, event())
            self.runtime.ready(process)
            return self.table.take(False)[0]


def processor_time(process):
    """Of all its threads, in nanoseconds: clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~process.pid << 3) | 2)


class Service:
    """The local runner: its table, its stations, and objects made through it."""

    def __init__(self, executable):
        arguments = [executable, "--json", "--memory", "--port", "0", "--rate", "1000000"]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE)
        started = json.loads(self.process.stdout.readline())
        self.url, self.key, self.store, self.name = started["base_url"], started["api_key"], started["store"], started["table"]
        self.access_key = started["store_access_key"]

    def call(self, operation, body):
        """Calls the table's engine directly."""
        headers = {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "Authorization": f"AWS4-HMAC-SHA256 Credential={self.access_key}/20260101/eu-west-1/dynamodb/aws4_request, "
            "SignedHeaders=host, Signature=0",
        }  # fmt: skip
        with urllib.request.urlopen(urllib.request.Request(self.store, json.dumps(body).encode(), headers)) as answer:
            return json.load(answer)

    def post(self, path, body):
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/v1/{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["id"]

    def event(self, method, path, body=None, key=None):
        """An event of the API's gateway."""
        path, _, query = path.partition("?")
        event = json.loads((ROOT / "events/create-fleet.json").read_text())
        event.update(rawPath=path, rawQueryString=query, routeKey=f"{method} {path}")
        event["requestContext"]["http"].update(method=method, path=path)
        event["requestContext"]["routeKey"] = event["routeKey"]
        event["headers"]["authorization"] = f"Bearer {self.key}"
        event["headers"].pop("idempotency-key", None)
        if key:
            event["headers"]["idempotency-key"] = key
        event.pop("body")
        if body is not None:
            event["body"] = json.dumps(body)
        return event


def moment(minutes):
    return (datetime.now(timezone.utc) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def classes(service):
    """One route of each class: its name, its function, and events for it, each with a key of its own."""
    fleet = json.loads(json.loads((ROOT / "events/create-fleet.json").read_text())["body"])
    first = [service.post("fleets", fleet) for _ in range(10)][0]
    driver = service.post("drivers", {"name": "Ada Byron", "email": "ada@fleet.example"})
    service.post(f"drivers/{driver}/attach", {"fleet": first})
    vehicle = service.post(
        "vehicles",
        {"fleet": first, "registration_plate": "AB12 CDE", "vin": "WVWZZZ1KZAW000001", "battery_capacity": 60000,
         "charging_standard": "Type2"},
    )  # fmt: skip
    near = {"latitude": 51.507, "longitude": -0.128, "radius": 5000}
    reservation_body = {
        "driver": driver, "vehicle": vehicle, "connector_type": ["Type2"], "location": near,
        "ideal_start": moment(3000), "ideal_end": moment(3060),
    }  # fmt: skip
    reservation = service.post("reservations", reservation_body)
    made = iter(range(1 << 30))

    def sending(method, path, body=None):
        return lambda: service.event(method, path, body, f"speed-{next(made)}" if body else None)

    place = "&".join(f"{name}={value}" for name, value in near.items())
    return [
        ("retrieve", "retrieve-reservation", sending("GET", f"/v1/reservations/{reservation}")),
        ("list of 10", "list-fleets", sending("GET", "/v1/fleets?limit=10")),
        ("search by place", "list-charging-stations", sending("GET", f"/v1/charging_stations?{place}&limit=10")),
        ("create", "create-fleet", sending("POST", "/v1/fleets", fleet)),
        ("update", "update-fleet", sending("POST", f"/v1/fleets/{first}", {"name": "Day shift"})),
        ("create a reservation", "create-reservation", sending("POST", "/v1/reservations", reservation_body)),
    ]


def megabytes(count):
    return f"{count / 1e6:.2f} MB"


def machine(executable):
    """What an executable runs on, as its ELF header says."""
    with open(executable, "rb") as file:
        return {0x3E: "x86_64", 0xB7: "arm64"}.get(int.from_bytes(file.read(20)[18:], "little"), "another")


def zipped(executable):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(executable, "bootstrap")
    return len(packed.getvalue())


def summary(noted):
    """Calls by their actions, and what they take from the table."""
    actions = [action for action, _ in noted]
    reads = sum(units for action, units in noted if action in ("GetItem", "Query", "BatchGetItem"))
    writes = sum(units for _, units in noted) - reads
    units = [f"{count:g} {unit}" for count, unit in ((reads, "RCU"), (writes, "WCU")) if count]
    counted = [f"{actions.count(action)} {action}" for action in dict.fromkeys(actions)]
    return " + ".join(counted), ", ".join(units)


class Peer:
    """Another executable, to compare with: it answers one event, and has a table of its own."""

    def __init__(self, options, table, bundle, service):
        calls = json.loads(pathlib.Path(options.peer_seed).read_text())
        for operation, body in calls:
            service.call(operation, body)
        name = next(body["TableName"] for operation, body in calls if operation == "CreateTable")
        event = json.loads(pathlib.Path(options.peer_event).read_text())
        self.measured, self.event = Measured(options.peer, table, bundle, service, name), lambda: event
        self.measured.environment["RUST_LOG"] = "info"


# In how many parts the requests of a class are sent, in turns with those of the others.
ROUNDS = 6
# Requests a second of one account in live mode, unless it is set, and how many requests are sent at that rate.
RATE, LIMITED = 100, 450


def medians(rounds):
    return [statistics.median(column) for column in zip(*rounds)]


def in_turns(options, each, share):
    """Warm requests and cold starts of each executable and class, a part of them in each round, so that what else the machine does
    hits all alike."""
    warm, starts, slow = ([[] for _ in each] for _ in range(3))
    for turn in range(ROUNDS):
        for number, (measured, handler, event) in enumerate(each):
            warm[number].append(measured.warm(handler, event, max(1, options.warm // ROUNDS)))
            for _ in range(turn, options.cold // 2, ROUNDS):
                starts[number].append(measured.cold(handler, event))
                if share:
                    slow[number].append(measured.cold(handler, event, share)[0])
    return warm, starts, slow


def figures(options, service, measured, peer):
    kinds = classes(service)
    _, handler, event = kinds[0]
    shares = {None: None}
    try:
        for memory in (128, 256):
            shares[memory] = Share(memory)
    except OSError as error:
        print(f"no quota of processor time can be set here, so there is no cold start with one: {error}", file=sys.stderr)
    both = [(measured, handler, event)] + ([(peer.measured, "peer", peer.event)] if peer else [])
    rounds = {(number, memory): [] for memory in shares for number in range(len(both))}
    for each in both:
        each[0].cold(*each[1:])
    # In turns, so that what else the machine does hits all alike.
    for _ in range(options.cold):
        for (number, memory), found in rounds.items():
            one, name, made = both[number]
            found.append(one.cold(name, made, shares[memory]))
    cold = {key: medians(found) for key, found in rounds.items()}
    each = [(measured, handler, event) for _, handler, event in kinds] + both[1:]
    classes_warm, classes_cold, classes_slow = in_turns(options, each, shares.get(128))
    warm = [medians(classes_warm[0])] + [medians(found) for found in classes_warm[len(kinds) :]]

    def row(name, figure):
        shown = [figure(number) for number in range(len(both))]
        ratio = [f"{shown[0][0] / shown[1][0]:.2f}"] if peer else []
        return "| " + " | ".join([name, *(text for _, text in shown), *ratio]) + " |"

    def milliseconds(number, memory=None, column=0):
        found = cold[number, memory]
        ready = f" ({found[1]:.1f} ms)" if memory is None and column == 0 else ""
        return found[column], f"{found[column]:.1f} ms{ready}"

    lines = ["| The executable | " + ("| the peer | ratio |" if peer else "|"), "|---|" + "---|" * (3 if peer else 1)]
    lines.append(row("cold start of a retrieve, processor time", lambda number: milliseconds(number, column=2)))
    lines.append(row("cold start, wall time on a whole processor (until it is ready)", milliseconds))
    for memory in filter(None, shares):
        lines.append(row(f"cold start, wall time with {memory} MB", lambda number: milliseconds(number, memory)))
    if peer:
        lines.append(row("warm retrieve, processor time", lambda number: (warm[number][0], f"{warm[number][0]:.0f} µs")))
    rows = []
    for number, (name, handler, event) in enumerate(kinds):
        used, median, peak = medians(classes_warm[number])
        ratio = statistics.median(here[0] / there[0] for here, there in zip(classes_warm[number], classes_warm[0]))
        starts, slow = classes_cold[number], classes_slow[number]
        noted, connections = measured.calls(handler, event)
        calls, units = summary(noted)
        rows.append(
            f"| {name} | {used:.0f} µs | {ratio:.2f} | {median / 1000:.2f} ms | {medians(starts)[2]:.1f} ms "
            f"| {f'{statistics.median(slow):.0f} ms' if slow else '–'} | {peak:.1f} MB | {connections} | {calls} | {units} |"
        )
    for share in filter(None, shares.values()):
        share.close()
    empty = " | |" if peer else ""
    reserved = [units for action, units in measured.limited(*kinds[0][1:], RATE, LIMITED) if action == "UpdateItem"]
    executables = [(measured.executable, "executable")]
    executables.append((pathlib.Path(measured.executable).parent.parent / "lambda/core/bootstrap", "executable"))
    for path, name in executables:
        if os.path.exists(path):
            lines.append(f"| {name}, {machine(path)} | {megabytes(os.path.getsize(path))}, {megabytes(zipped(path))} zipped |{empty}")
    lines += [
        f"| Tokens of the request rate, for {LIMITED} requests at nearly {RATE} a second | {len(reserved)} UpdateItem, {sum(reserved):g} WCU |{empty}",
        "",
        "| Request | Processor | × retrieve | Wall | Cold: processor | Cold: wall, 128 MB | Memory | Connections | Calls of the table | Capacity |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("executable")
    parser.add_argument("local")
    parser.add_argument("--update", action="store_true", help="write the figures into infra/speed/README.md")
    parser.add_argument("--cold", type=int, default=30, help="how many cold starts of each kind")
    parser.add_argument("--warm", type=int, default=3000, help="how many requests of each class")
    parser.add_argument("--peer", help="another executable, to compare with")
    parser.add_argument("--peer-seed", help="the calls that make its table")
    parser.add_argument("--peer-event", help="the event that it answers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        authority, bundle = certificates(folder)
        service = Service(options.local)
        try:
            table = Table(service.store, folder)
            table.start()
            peer = Peer(options, table, bundle, service) if options.peer else None
            found = figures(options, service, Measured(options.executable, table, authority, service), peer)
        finally:
            service.process.terminate()
            service.process.wait()
    print(found, end="")
    if options.update:
        text = README.read_text()
        before, rest = text.split(MARKS[0])
        README.write_text(before + MARKS[0] + found + MARKS[1] + rest.split(MARKS[1])[1])


if __name__ == "__main__":
    main()
