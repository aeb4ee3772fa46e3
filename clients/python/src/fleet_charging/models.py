"""The types of requests and responses."""

from ._generated.models import *  # noqa: F403
