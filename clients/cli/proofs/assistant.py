"""An assistant's session with `fleet mcp` or with the service, by the official Python client of the protocol: a vehicle is found, and two reservations are made and cancelled.

assistant.py FLEET PLATE EMAIL: the executable, which has a profile, the plate of a vehicle, and the e-mail address of a driver of its fleet.
assistant.py URL PLATE EMAIL KEY: the same at the address of the service's tools, with an API key.
"""

import asyncio
import datetime
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


def connection(server: str, key: str | None):
    """The streams of a connection with the server."""
    if key is None:
        return stdio_client(StdioServerParameters(command=server, args=["mcp"], env=dict(os.environ)))
    client = create_mcp_http_client(headers={"Authorization": f"Bearer {key}"})
    return streamable_http_client(server, http_client=client)


async def main(server: str, plate: str, email: str, key: str | None = None) -> None:
    async with connection(server, key) as streams:
        async with ClientSession(*streams) as session:
            started = await session.initialize()
            assert started.server_info.name == "fleet", started
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            assert tools["find_vehicle"].annotations.read_only_hint and tools["cancel_reservation"].annotations.destructive_hint

            async def call(name: str, fails: bool = False, **arguments: object) -> dict:
                result = await session.call_tool(name, arguments)
                assert result.is_error == fails, result
                return result.structured_content or json.loads(result.content[0].text)

            now = datetime.datetime.fromisoformat((await call("now"))["now"])
            found = (await call("find_vehicle", query=plate.lower().replace(" ", "-")))["found"]
            drivers = (await call("find_driver", query=email))["found"]
            pairs = [(car, person) for car in found for person in drivers if car["fleet"] in person["fleets"]]
            assert pairs, (found, drivers)
            vehicle, driver = pairs[0]
            reserved = await call(
                "reserve",
                driver=driver["id"],
                vehicle=vehicle["id"],
                ideal_start=(now + datetime.timedelta(hours=5)).isoformat(),
                ideal_end=(now + datetime.timedelta(hours=6)).isoformat(),
                connector_type=[vehicle["charging_standard"]],
                location={"latitude": 51.507, "longitude": -0.128, "radius": 5000},
            )
            assert reserved["status"] == "pending", reserved
            planned = await call(
                "reserve_by_need",
                driver=driver["id"],
                vehicle=vehicle["id"],
                need={"target_level": 80, "ready_by": (now + datetime.timedelta(hours=30)).isoformat()},
                connector_type=[vehicle["charging_standard"]],
                location={"latitude": 51.507, "longitude": -0.128, "radius": 5000},
            )
            assert planned["charging_plan"]["status"] == "feasible", planned
            await call("cancel_reservation", id=planned["id"], confirm=True)
            only_shown = await call("cancel_reservation", id=reserved["id"])
            assert only_shown["done"] is False and only_shown["result"]["status"] == "cancelled", only_shown
            assert (await call("explain_reservation", id=reserved["id"]))["status"] == "pending"
            assert (await call("cancel_reservation", id=reserved["id"], confirm=True))["status"] == "cancelled"
            refused = await call("cancel_reservation", fails=True, id=reserved["id"], confirm=True)
            assert refused["code"] == "reservation_cancel_invalid_state", refused
    print(f"{len(tools)} tools; two reservations were made and cancelled")


asyncio.run(main(*sys.argv[1:]))
