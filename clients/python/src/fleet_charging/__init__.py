"""The client of the Fleet Charging Service."""

from . import errors, models, webhooks
from ._client import AsyncFleetClient, FleetClient
from ._clock import Clock
from ._generated.version import API_VERSION
from ._http import RequestOptions
from ._objects import ApiObject, Expandable
from ._pages import AsyncPage, Page
from ._errors import ApiError, FleetError

__all__ = [
    "API_VERSION",
    "ApiError",
    "ApiObject",
    "AsyncFleetClient",
    "AsyncPage",
    "Clock",
    "Expandable",
    "FleetClient",
    "FleetError",
    "Page",
    "RequestOptions",
    "errors",
    "models",
    "webhooks",
]
