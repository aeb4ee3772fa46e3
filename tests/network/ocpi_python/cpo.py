"""A charge point operator on the library ocpi-python, to try the service by hand against software of another project.

    python3 -m venv target/tools/ocpi-python
    target/tools/ocpi-python/bin/pip install -r tests/network/ocpi_python/requirements.txt
    target/tools/ocpi-python/bin/python tests/network/ocpi_python/cpo.py --port 8795 --version 2.2.1

It has one location with two EVSEs and one tariff. START_SESSION begins a session two seconds after its result; the session is sent
again every five seconds, and STOP_SESSION ends it with a CDR. It keeps everything in memory.
"""

import argparse
import asyncio
import os
import uuid
from datetime import UTC, datetime

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("--port", type=int, default=8795)
arguments.add_argument("--version", choices=["2.2.1", "2.3.0"], default="2.2.1")
options = arguments.parse_args()

# The library reads its settings from the environment when it is imported.
os.environ.update(
    OCPI_HOST=f"127.0.0.1:{options.port}", PROTOCOL="http", COUNTRY_CODE="NL", PARTY_ID="PYT", ENVIRONMENT="development"
)

from typing import get_args  # noqa: E402

from pydantic.fields import FieldInfo  # noqa: E402

# The library declares the optional members of OCPI as `X | None` without a default, which pydantic takes for required ones.
from_annotation = FieldInfo.from_annotation


def optional(annotation, *more, **named):
    field = from_annotation(annotation, *more, **named)
    if field.is_required() and type(None) in get_args(annotation):
        field.default = None
    return field


FieldInfo.from_annotation = staticmethod(optional)

import httpx  # noqa: E402
import uvicorn  # noqa: E402
from ocpi import get_application  # noqa: E402
from ocpi.core.authentication.authenticator import Authenticator  # noqa: E402
from ocpi.core.crud import Crud  # noqa: E402
from ocpi.core.enums import Action, ModuleID, RoleEnum  # noqa: E402
from ocpi.core.utils import encode_string_base64  # noqa: E402
from ocpi.modules.versions.enums import VersionNumber  # noqa: E402

PARTY = {"country_code": "NL", "party_id": "PYT"}
TOKEN_A = "ocpi-python-token-a"
POWER_KW = 22


def now():
    return datetime.now(tz=UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def evse(number):
    return {
        "uid": f"PY-{number}",
        "evse_id": f"NL*PYT*E{number}",
        "status": "AVAILABLE",
        "capabilities": ["REMOTE_START_STOP_CAPABLE", "RESERVABLE"],
        "connectors": [
            {
                "id": "1",
                "standard": "IEC_62196_T2",
                "format": "SOCKET",
                "power_type": "AC_3_PHASE",
                "max_voltage": 230,
                "max_amperage": 32,
                "max_electric_power": POWER_KW * 1000,
                "tariff_ids": ["PY-TARIFF"],
                "last_updated": now(),
            }
        ],
        "last_updated": now(),
    }


LOCATION = {
    **PARTY,
    "id": "PY-LOCATION",
    "publish": True,
    "name": "Charging station of ocpi-python",
    "address": "Dam 1",
    "city": "Amsterdam",
    "country": "NLD",
    "coordinates": {"latitude": "52.373000", "longitude": "4.893000"},
    "evses": [evse(1), evse(2)],
    "time_zone": "Europe/Amsterdam",
    "opening_times": {"twentyfourseven": True},
    "last_updated": now(),
}

TARIFF = {
    **PARTY,
    "id": "PY-TARIFF",
    "currency": "EUR",
    "elements": [{"price_components": [{"type": "ENERGY", "price": 0.40, "vat": 21.0, "step_size": 1}]}],
    "last_updated": now(),
}
if options.version == "2.3.0":
    TARIFF["tax_included"] = "NO"

objects = {
    ModuleID.locations: {LOCATION["id"]: LOCATION},
    ModuleID.tariffs: {TARIFF["id"]: TARIFF},
    ModuleID.sessions: {},
    ModuleID.cdrs: {},
    ModuleID.tokens: {},
}
# The eMSP: its token for requests to it, its endpoints, and the token with which it calls.
emsp = {"token": None, "endpoints": [], "token_c": None}


def amount(kwh):
    net = round(kwh * 0.40, 2)
    gross = round(kwh * 0.40 * 1.21, 2)
    if options.version == "2.3.0":
        return {"before_taxes": net, "taxes": [{"name": "VAT", "amount": round(gross - net, 2)}]}
    return {"excl_vat": net, "incl_vat": gross}


async def send(method, module, path, body):
    """Sends a request to the receiver interface of the eMSP."""
    endpoint = next(one for one in emsp["endpoints"] if (one["identifier"], one["role"]) == (module, "RECEIVER"))
    url = endpoint["url"].rstrip("/") + path
    headers = {
        "Authorization": f"Token {encode_string_base64(emsp['token'])}",
        "X-Request-ID": str(uuid.uuid4()),
        "X-Correlation-ID": str(uuid.uuid4()),
    }
    async with httpx.AsyncClient() as client:
        response = await client.request(method, url, json=body, headers=headers)
    print(f"{method} {url}: HTTP {response.status_code} {response.text}", flush=True)


async def charge(command):
    """Begins a session, and sends it until it is stopped."""
    await asyncio.sleep(2)
    token = command["token"]
    started = datetime.now(tz=UTC)
    session = {
        **PARTY,
        "id": f"PY-{uuid.uuid4().hex[:12]}",
        "start_date_time": now(),
        "kwh": 0,
        "cdr_token": {name: token[name] for name in ("country_code", "party_id", "uid", "type", "contract_id")},
        "auth_method": "COMMAND",
        "location_id": command["location_id"],
        "evse_uid": command["evse_uid"] or "PY-1",
        "connector_id": "1",
        "currency": "EUR",
        "charging_periods": [],
        "status": "ACTIVE",
    }
    if command["authorization_reference"]:
        session["authorization_reference"] = command["authorization_reference"]
    objects[ModuleID.sessions][session["id"]] = session
    while True:
        seconds = (datetime.now(tz=UTC) - started).total_seconds()
        kwh = round(POWER_KW * seconds / 3600, 3)
        period = {
            "start_date_time": session["start_date_time"],
            "dimensions": [{"type": "ENERGY", "volume": kwh}, {"type": "TIME", "volume": round(seconds / 3600, 4)}],
        }
        session |= {"kwh": kwh, "charging_periods": [period], "total_cost": amount(kwh), "last_updated": now()}
        ends = session.pop("stop", False)
        if ends:
            session |= {"status": "COMPLETED", "end_date_time": now()}
        await send("PUT", "sessions", f"/NL/PYT/{session['id']}", session)
        if ends:
            return await bill(session, seconds)
        await asyncio.sleep(5)


async def bill(session, seconds):
    """Sends the CDR of a session."""
    point = next(one for one in LOCATION["evses"] if one["uid"] == session["evse_uid"])
    connector = point["connectors"][0]
    kept = ("start_date_time", "end_date_time", "cdr_token", "auth_method", "authorization_reference", "currency")
    cdr = {
        **PARTY,
        **{name: session[name] for name in kept if name in session},
        "id": f"CDR-{session['id']}",
        "session_id": session["id"],
        "cdr_location": {
            **{name: LOCATION[name] for name in ("id", "name", "address", "city", "country", "coordinates")},
            "evse_uid": point["uid"],
            "evse_id": point["evse_id"],
            "connector_id": "1",
            "connector_standard": connector["standard"],
            "connector_format": connector["format"],
            "connector_power_type": connector["power_type"],
        },
        "tariffs": [TARIFF],
        "charging_periods": session["charging_periods"],
        "total_cost": session["total_cost"],
        "total_energy": session["kwh"],
        "total_time": round(seconds / 3600, 4),
        "last_updated": now(),
    }
    objects[ModuleID.cdrs][cdr["id"]] = cdr
    await send("POST", "cdrs", "", cdr)


class Tokens(Authenticator):
    @classmethod
    async def get_valid_token_c(cls):
        # The library asks for a token C before it shows its versions, also to whoever still has to register.
        return [token for token in (emsp["token_c"],) if token]

    @classmethod
    async def get_valid_token_a(cls):
        return [TOKEN_A] if emsp["token_c"] is None else []


class Store(Crud):
    @classmethod
    async def get(cls, module, role, id, *args, **kwargs):
        if module == ModuleID.commands:
            # The result of a command, which the library sends to the response_url.
            return {"result": "ACCEPTED"}
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
            emsp["token"] = data["credentials"]["token"]
            emsp["endpoints"] = data["endpoints"]["endpoints"]
            emsp["token_c"] = uuid.uuid4().hex
            return credentials()
        objects[module][data.get("uid") or data["id"]] = data
        return data

    @classmethod
    async def update(cls, module, role, data, id, *args, **kwargs):
        objects[module][id] = {**objects[module].get(id, {}), **data}
        return objects[module][id]

    @classmethod
    async def delete(cls, module, role, id, *args, **kwargs):
        if module == ModuleID.credentials_and_registration:
            emsp.update(token=None, endpoints=[], token_c=None)

    @classmethod
    async def do(cls, module, role, action, *args, data=None, **kwargs):
        if action == Action.get_client_token:
            return emsp["token"]
        data = data or (args[0] if args else {})
        command = kwargs.get("command")
        print(f"{command.value}: {data}", flush=True)
        if command.value == "START_SESSION":
            asyncio.get_running_loop().create_task(charge(data))
        elif command.value == "STOP_SESSION":
            session = objects[ModuleID.sessions].get(data["session_id"])
            if session is None or session["status"] != "ACTIVE":
                return {"result": "UNKNOWN_SESSION", "timeout": 0}
            session["stop"] = True
        return {"result": "ACCEPTED", "timeout": 30}


def credentials():
    url = f"http://127.0.0.1:{options.port}/ocpi/versions"
    role = {"role": "CPO", **PARTY, "business_details": {"name": "ocpi-python"}}
    return {"token": emsp["token_c"] or TOKEN_A, "url": url, "roles": [role]}


app = get_application(
    version_numbers=[VersionNumber(options.version)],
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

if __name__ == "__main__":
    print(f"versions http://127.0.0.1:{options.port}/ocpi/versions\ntoken A  {TOKEN_A}", flush=True)
    uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning")
