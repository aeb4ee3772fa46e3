"""What the client raises: `FleetError` and its classes. Each code of the service has one, such as `FleetNotFoundError`."""

from ._errors import *  # noqa: F403
from ._generated.errors import *  # noqa: F403
