"""The objects of responses: JSON objects whose members are attributes."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

# The name in `_types` of a member that holds a moment.
MOMENT = "datetime"

_classes: dict[str, type[ApiObject]] = {}
# A schema that is one of several: the member that decides, and the class for each of its values.
_unions: dict[str, tuple[str, Mapping[str, str]]] = {}


def register_union(name: str, member: str, classes: Mapping[str, str]) -> None:
    """Makes the value of a member decide the class of the objects with this name."""
    _unions[name] = (member, classes)


def timestamp(moment: datetime) -> str:
    """A moment as the service writes it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def wrap(value: Any, name: str) -> Any:
    """The object of the class with this name that a JSON value stands for, or a moment, or a list of such; anything else stays."""
    if isinstance(value, list):
        return [wrap(entry, name) for entry in value]
    if name == MOMENT and isinstance(value, str):
        return datetime.fromisoformat(value)
    if not isinstance(value, dict):
        return value
    if name in _unions:
        member, classes = _unions[name]
        name = classes.get(value.get(member, ""), "ApiObject")
    return _classes.get(name, ApiObject)(value)


def unwrap(value: Any) -> Any:
    """The JSON value that an object was made from."""
    if isinstance(value, ApiObject):
        return value.to_dict()
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, list):
        return [unwrap(entry) for entry in value]
    return value


class ApiObject:
    """A JSON object. Its members are attributes, and moments are `datetime`s.

    A member whose name is a keyword of Python ends with an underscore (`range.from_`). Members that this version of the client does not know
    are there as well: `fleet["new_member"]`.
    """

    __slots__ = ("_members",)

    # The classes of the members that are objects, moments, or lists of these.
    _types: ClassVar[Mapping[str, str]] = {}

    def __init__(self, members: Mapping[str, Any]) -> None:
        types = self._types
        self._members: dict[str, Any] = {
            name: wrap(value, types[name]) if name in types else value for name, value in members.items()
        }

    def __init_subclass__(cls) -> None:
        _classes[cls.__name__] = cls

    if not TYPE_CHECKING:  # A type checker knows the members of each class, and no others.

        def __getattr__(self, name: str) -> Any:
            if name.endswith("_") and keyword.iskeyword(name[:-1]):
                name = name[:-1]
            try:
                return self._members[name]
            except KeyError:
                raise AttributeError(f"{type(self).__name__} has no member {name!r}") from None

    def __getitem__(self, name: str) -> Any:
        return self._members[name]

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ApiObject) and self._members == other._members

    def __hash__(self) -> int:
        return hash((type(self), self._members.get("id")))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._members.items() if name != "secret")
        return f"{type(self).__name__}({shown})"

    def __getstate__(self) -> dict[str, Any]:
        return self.to_dict()

    def __setstate__(self, state: dict[str, Any]) -> None:
        ApiObject.__init__(self, state)

    def to_dict(self) -> dict[str, Any]:
        """The members as JSON values."""
        return {name: unwrap(value) for name, value in self._members.items()}
