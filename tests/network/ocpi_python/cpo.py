"""A charge point operator (CPO) on the library ocpi-python, to try the service by hand against software of another project.

    python3 -m venv target/tools/ocpi-python
    target/tools/ocpi-python/bin/pip install -r tests/network/ocpi_python/requirements.txt
    target/tools/ocpi-python/bin/python tests/network/ocpi_python/cpo.py --version 2.2.1

It has one location with two EVSEs and one tariff, and keeps everything in memory. START_SESSION is answered at once; its result follows
two seconds later, and then the session: a PUT, a PATCH every five seconds, and after STOP_SESSION a PUT and the CDR. The library answers
all requests, sends the results of commands, and sends every PUT and POST. It has no function for a PATCH and none that registers with
another party, so this file sends those requests itself.
"""

import argparse
import asyncio
import os
import uuid
from datetime import UTC, datetime
from typing import get_args

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("--port", type=int, default=8795)
arguments.add_argument("--version", choices=["2.2.1", "2.3.0"], default="2.2.1")
arguments.add_argument("--register", nargs=2, metavar=("URL", "TOKEN"), help="registers with the eMSP that issued this token A")
arguments.add_argument("--clock", metavar="URL", help="/_local/clock of the service, whose time is used; FLEET_LOCAL_TOKEN has its token")
arguments.add_argument("--unmodified", action="store_true", help="leaves the optional members of OCPI required, as the library has them")
options = arguments.parse_args()

# The library reads its settings from the environment when it is imported.
os.environ.update(
    OCPI_HOST=f"127.0.0.1:{options.port}", PROTOCOL="http", COUNTRY_CODE="NL", PARTY_ID="PYT", ENVIRONMENT="production"
)

from pydantic import BaseModel  # noqa: E402
from pydantic.fields import FieldInfo  # noqa: E402

# The library declares most of the optional members of OCPI as `X | None` without a default, and pydantic requires those.
from_annotation = FieldInfo.from_annotation


def optional(annotation, *more, **named):
    field = from_annotation(annotation, *more, **named)
    if field.is_required() and type(None) in get_args(annotation):
        field.default = None
    return field


if not options.unmodified:
    FieldInfo.from_annotation = staticmethod(optional)

import httpx  # noqa: E402
import uvicorn  # noqa: E402
from ocpi import get_application  # noqa: E402
from ocpi.core.adapter import BaseAdapter  # noqa: E402
from ocpi.core.authentication.authenticator import Authenticator  # noqa: E402
from ocpi.core.crud import Crud  # noqa: E402
from ocpi.core.enums import Action, ModuleID, RoleEnum  # noqa: E402
from ocpi.core.push import push_object  # noqa: E402
from ocpi.core.schemas import Push, Receiver  # noqa: E402
from ocpi.core.utils import encode_string_base64, get_module_model  # noqa: E402
from ocpi.modules.versions.enums import VersionNumber  # noqa: E402

VERSION = VersionNumber(options.version)
PARTY = {"country_code": "NL", "party_id": "PYT"}
TOKEN_A = "ocpi-python-token-a"
POWER_KW = 22
PRICE, VAT = 0.40, 0.21

# The eMSP: where its versions are, its token for requests to it, its endpoints, and the token with which it calls.
emsp = {"url": None, "token": None, "endpoints": [], "token_c": None}
# The response URLs of the commands whose result is known.
finished = set()


def filled(annotation, value):
    """Adds null for the members that the unmodified library requires."""
    if isinstance(value, list):
        return [filled(annotation, one) for one in value]
    model = model_in(annotation)
    if model is None or not isinstance(value, dict):
        return value
    missing = {name: None for name, field in model.model_fields.items() if field.is_required() and name not in value}
    known = model.model_fields
    return missing | {name: filled(known[name].annotation, one) if name in known else one for name, one in value.items()}


def model_in(annotation):
    """The model of an annotation such as `list[Connector]` or `Hours | None`."""
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation if issubclass(annotation, BaseModel) else None
    return next(filter(None, map(model_in, get_args(annotation))), None)


def made(kind, module, value):
    """An object with every member that the library's model of this kind requires."""
    return filled(get_module_model(kind, module, VERSION.name), value)


async def now():
    """The time, in whole seconds, as the library writes it."""
    if options.clock:
        async with httpx.AsyncClient() as client:
            headers = {"Authorization": f"Bearer {os.environ.get('FLEET_LOCAL_TOKEN', '')}"}
            moment = datetime.fromisoformat((await client.get(options.clock, headers=headers)).json()["now"])
    else:
        moment = datetime.now(tz=UTC)
    return moment.replace(microsecond=0)


def text(moment):
    return moment.isoformat().replace("+00:00", "Z")


START = text(datetime.now(tz=UTC).replace(microsecond=0))


def evse(number):
    connector = {
        "id": "1",
        "standard": "IEC_62196_T2",
        "format": "SOCKET",
        "power_type": "AC_3_PHASE",
        "max_voltage": 230,
        "max_amperage": 32,
        "max_electric_power": POWER_KW * 1000,
        "tariff_ids": ["PY-TARIFF"],
        "last_updated": START,
    }
    return {
        "uid": f"PY-{number}",
        "evse_id": f"NL*PYT*E{number}",
        "status": "AVAILABLE",
        "capabilities": ["REMOTE_START_STOP_CAPABLE", "RESERVABLE"],
        "connectors": [connector],
        "last_updated": START,
    }


PLACE = {
    "id": "PY-LOCATION",
    "name": "Charging station of ocpi-python",
    "address": "Dam 1",
    "city": "Amsterdam",
    "country": "NLD",
    "coordinates": {"latitude": "52.373000", "longitude": "4.893000"},
}
LOCATION = {
    **PARTY,
    **PLACE,
    "publish": True,
    "evses": [evse(1), evse(2)],
    "time_zone": "Europe/Amsterdam",
    "opening_times": {"twentyfourseven": True},
    "last_updated": START,
}
# Version 2.3.0 requires `tax_included`; the library does not have the member and leaves it out.
TARIFF = {
    **PARTY,
    "id": "PY-TARIFF",
    "currency": "EUR",
    "tax_included": "NO",
    "elements": [{"price_components": [{"type": "ENERGY", "price": PRICE, "vat": VAT * 100, "step_size": 1}]}],
    "last_updated": START,
}
objects = {
    ModuleID.locations: {LOCATION["id"]: made("Location", "locations", LOCATION)},
    ModuleID.tariffs: {TARIFF["id"]: made("Tariff", "tariffs", TARIFF)},
    ModuleID.sessions: {},
    ModuleID.cdrs: {},
    ModuleID.tokens: {},
}


def price(kwh):
    net, gross = round(kwh * PRICE, 2), round(kwh * PRICE * (1 + VAT), 2)
    if options.version == "2.3.0":
        return {"before_taxes": net, "taxes": [{"name": "VAT", "amount": round(gross - net, 2)}]}
    return {"excl_vat": net, "incl_vat": gross}


def headers(token):
    ids = {"X-Request-ID": str(uuid.uuid4()), "X-Correlation-ID": str(uuid.uuid4())}
    return {"Authorization": f"Token {encode_string_base64(token)}", **ids}


async def push(module, id):
    """Has the library send an object as it is now."""
    receiver = Receiver(endpoints_url=emsp["url"], auth_token=emsp["token"])
    sent = await push_object(VERSION, Push(module_id=module, object_id=id, receivers=[receiver]), Store, BaseAdapter)
    for one in sent.receiver_responses:
        print(f"pushed {module.value} {id}: HTTP {one.status_code} {one.response}", flush=True)


async def patch(session, change):
    """Sends what has changed of a session."""
    url = next(one["url"] for one in emsp["endpoints"] if (one["identifier"], one["role"]) == ("sessions", "RECEIVER"))
    async with httpx.AsyncClient() as client:
        response = await client.patch(f"{url}/NL/PYT/{session['id']}", json=change, headers=headers(emsp["token"]))
    print(f"patched {session['id']}: HTTP {response.status_code} {response.text}", flush=True)


async def charge(command):
    """Begins a session, and sends it until it is stopped."""
    await asyncio.sleep(1)
    finished.add(command["response_url"])
    await asyncio.sleep(2)
    token, started = command["token"], await now()
    session = {
        **PARTY,
        "id": f"PY-{uuid.uuid4().hex[:12]}",
        "start_date_time": text(started),
        "kwh": 0,
        "cdr_token": {name: token[name] for name in ("country_code", "party_id", "uid", "type", "contract_id")},
        "auth_method": "COMMAND",
        "authorization_reference": command["authorization_reference"],
        "location_id": command["location_id"],
        "evse_uid": command["evse_uid"] or "PY-1",
        "connector_id": "1",
        "currency": "EUR",
        "status": "ACTIVE",
        "last_updated": text(started),
    }
    session = made("Session", "sessions", session)
    objects[ModuleID.sessions][session["id"]] = session
    await push(ModuleID.sessions, session["id"])
    while True:
        for _ in range(5):
            await asyncio.sleep(1)
            if "stop" in session:
                return await end(session, started)
        moment = await now()
        kwh = round(POWER_KW * (moment - started).total_seconds() / 3600, 3)
        change = {"kwh": kwh, "total_cost": price(kwh), "last_updated": text(moment)}
        session |= change
        await patch(session, change)


async def end(session, started):
    """Sends the completed session and its CDR."""
    moment = await now()
    hours = round((moment - started).total_seconds() / 3600, 4)
    kwh = round(POWER_KW * (moment - started).total_seconds() / 3600, 3)
    dimensions = [{"type": "ENERGY", "volume": kwh}, {"type": "TIME", "volume": hours}]
    period = {"start_date_time": session["start_date_time"], "dimensions": dimensions, "tariff_id": TARIFF["id"]}
    session |= {"kwh": kwh, "charging_periods": [period], "total_cost": price(kwh), "status": "COMPLETED"}
    session |= {"end_date_time": text(moment), "last_updated": text(moment)}
    objects[ModuleID.sessions][session["id"]] = made("Session", "sessions", session)
    await push(ModuleID.sessions, session["id"])
    point = next(one for one in LOCATION["evses"] if one["uid"] == session["evse_uid"])
    connector = point["connectors"][0]
    kept = ("start_date_time", "end_date_time", "cdr_token", "auth_method", "authorization_reference", "currency", "total_cost")
    cdr = {
        **PARTY,
        **{name: session[name] for name in (*kept, "charging_periods", "last_updated")},
        "id": f"CDR-{session['id']}",
        "session_id": session["id"],
        # The library's model has no `evse_uid`, which OCPI requires, and leaves it out.
        "cdr_location": PLACE
        | {"evse_uid": point["uid"], "evse_id": point["evse_id"], "connector_id": "1"}
        | {f"connector_{name}": connector[name] for name in ("standard", "format", "power_type")},
        "tariffs": [TARIFF],
        "total_energy": kwh,
        "total_time": hours,
    }
    objects[ModuleID.cdrs][cdr["id"]] = made("Cdr", "cdrs", cdr)
    await push(ModuleID.cdrs, cdr["id"])


class Tokens(Authenticator):
    @classmethod
    async def get_valid_token_c(cls):
        return [token for token in (emsp["token_c"],) if token]

    @classmethod
    async def get_valid_token_a(cls):
        return [TOKEN_A] if emsp["token_c"] is None else []


class Store(Crud):
    @classmethod
    async def get(cls, module, role, id, *args, command_data=None, **kwargs):
        if module == ModuleID.commands:
            # The result of a command. The library asks for it every two seconds, and sends it to the response_url.
            return {"result": "ACCEPTED"} if command_data.response_url in finished else None
        if module == ModuleID.credentials_and_registration:
            return credentials()
        return objects.get(module, {}).get(id)

    @classmethod
    async def list(cls, module, role, filters, *args, **kwargs):
        found = list(objects.get(module, {}).values())
        since = filters.get("date_from")
        if since:
            found = [one for one in found if datetime.fromisoformat(one["last_updated"]) >= since.replace(tzinfo=UTC)]
        offset, limit = filters["offset"], filters["limit"]
        return found[offset : offset + limit], len(found), offset + limit >= len(found)

    @classmethod
    async def create(cls, module, role, data, *args, **kwargs):
        if module == ModuleID.credentials_and_registration:
            emsp["url"], emsp["token"] = data["credentials"]["url"], data["credentials"]["token"]
            emsp["endpoints"], emsp["token_c"] = data["endpoints"]["endpoints"], uuid.uuid4().hex
            return credentials()
        objects[module][data.get("uid") or data["id"]] = data
        return data

    @classmethod
    async def update(cls, module, role, data, id, *args, **kwargs):
        if module == ModuleID.credentials_and_registration:
            return await cls.create(module, role, data)
        objects[module][id] = {**objects[module].get(id, {}), **data}
        return objects[module][id]

    @classmethod
    async def delete(cls, module, role, id, *args, **kwargs):
        if module == ModuleID.credentials_and_registration:
            emsp.update(url=None, token=None, endpoints=[], token_c=None)

    @classmethod
    async def do(cls, module, role, action, data=None, *args, command=None, **kwargs):
        if action == Action.get_client_token:
            return emsp["token"]
        print(f"{command.value}: {data}", flush=True)
        if command.value == "START_SESSION":
            asyncio.create_task(charge(data))
            return {"result": "ACCEPTED", "timeout": 30}
        if command.value == "STOP_SESSION":
            session = objects[ModuleID.sessions].get(data["session_id"])
            if session is None or session["status"] != "ACTIVE":
                return {"result": "UNKNOWN_SESSION", "timeout": 0}
            session["stop"] = True
        finished.add(data["response_url"])
        return {"result": "ACCEPTED", "timeout": 30}


def credentials():
    url = f"http://127.0.0.1:{options.port}/ocpi/versions"
    role = {"role": "CPO", **PARTY, "business_details": {"name": "ocpi-python"}}
    return made("Credentials", "credentials", {"token": emsp["token_c"] or TOKEN_A, "url": url, "roles": [role]})


async def register(url, token_a):
    """Registers with an eMSP: token A opens its versions, token B is for its requests, and it answers with token C."""
    emsp["url"], emsp["token_c"] = url, uuid.uuid4().hex

    async def ask(method, url, body=None):
        async with httpx.AsyncClient() as client:
            response = await client.request(method, url, json=body, headers=headers(token_a))
        print(f"{method} {url}: HTTP {response.status_code} {response.text}", flush=True)
        return response.json()["data"]

    versions = await ask("GET", url)
    details = await ask("GET", next(one["url"] for one in versions if one["version"] == options.version))
    emsp["endpoints"] = details["endpoints"]
    endpoint = next(one["url"] for one in emsp["endpoints"] if one["identifier"] == "credentials")
    emsp["token"] = (await ask("POST", endpoint, credentials()))["token"]


app = get_application(
    version_numbers=[VERSION],
    roles=[RoleEnum.cpo],
    modules=[
        ModuleID.credentials_and_registration,
        ModuleID.locations,
        ModuleID.tariffs,
        ModuleID.sessions,
        ModuleID.cdrs,
        ModuleID.tokens,
        ModuleID.commands,
    ],
    authenticator=Tokens,
    crud=Store,
)


async def serve():
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=options.port, log_level="warning"))
    serving = asyncio.create_task(server.serve())
    while not server.started and not serving.done():
        await asyncio.sleep(0.1)
    print(f"versions http://127.0.0.1:{options.port}/ocpi/versions\ntoken A  {TOKEN_A}", flush=True)
    if options.register:
        await register(*options.register)
    await serving


if __name__ == "__main__":
    asyncio.run(serve())
