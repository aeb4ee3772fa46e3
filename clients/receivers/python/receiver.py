"""Receives webhooks with FastAPI. WEBHOOK_SECRET is the secret of the endpoint, `whsec_…`."""

import os

from fastapi import BackgroundTasks, FastAPI, HTTPException, Request
from fleet_charging import webhooks
from fleet_charging.errors import SignatureVerificationError
from fleet_charging.models import Event

SECRET = os.environ["WEBHOOK_SECRET"]

app = FastAPI()
handled: set[str] = set()
"""The ids of events that were handled. Keep them with your data: this set is lost when the program ends."""


@app.post("/webhooks", status_code=204)
async def receive(request: Request, tasks: BackgroundTasks) -> None:
    try:
        event = webhooks.verify(await request.body(), request.headers, SECRET)
    except SignatureVerificationError as error:
        raise HTTPException(400, str(error)) from error
    # The response is sent first: a delivery that takes longer than 15 seconds is repeated.
    tasks.add_task(handle, event)


def handle(event: Event) -> None:
    if event.id in handled:
        return
    handled.add(event.id)
    print(event.type, event.id, flush=True)
