"""The objects of responses: JSON objects whose members are attributes."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ._errors import NotExpandedError

T = TypeVar("T", covariant=True)

# The name in `_types` of a member that holds a moment.
MOMENT = "datetime"

_classes: dict[str, type[ApiObject]] = {}
# The beginning of the names in `_types` of members that hold an id, or an object if `expand` names them.
EXPANDABLE = "Expandable"
# A schema that is one of several: the member that decides, and the class for each of its values.
_unions: dict[str, tuple[str, Mapping[str, str]]] = {}


def register_union(name: str, member: str, classes: Mapping[str, str]) -> None:
    """Makes the value of a member decide the class of the objects with this name."""
    _unions[name] = (member, classes)


def timestamp(moment: datetime) -> str:
    """A moment as the service writes it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def wrap(value: Any, name: str, member: str = "") -> Any:
    """The object of the class with this name that a JSON value stands for, or a moment, or a list of such; anything else stays."""
    if isinstance(value, list):
        return [wrap(entry, name, member) for entry in value]
    if name.startswith(EXPANDABLE) and isinstance(value, str):
        return Expandable(value, member)
    if name.startswith(EXPANDABLE) and isinstance(value, dict):
        return Expandable(value["id"], member, wrap(value, name.removeprefix(EXPANDABLE)))
    if name == MOMENT and isinstance(value, str):
        return _moment(value)
    if not isinstance(value, dict):
        return value
    if name in _unions:
        member, classes = _unions[name]
        name = classes.get(value.get(member, ""), "ApiObject")
    return _classes.get(name, ApiObject)(value)


def _moment(text: str) -> datetime | str:
    """The moment that a text stands for. The text itself if `datetime` cannot hold it, such as one in the year 0000."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text


def unwrap(value: Any) -> Any:
    """The JSON value that an object was made from."""
    if isinstance(value, Expandable):
        return unwrap(value.object) if value.is_expanded else str(value)
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
    are there as well: `fleet["new_member"]`. An object whose class this version does not know, such as the `data` of a new type of event, is an
    `ApiObject`, and so are the objects in it.
    """

    __slots__ = ("_members",)

    # The classes of the members that are objects, moments, or lists of these.
    _types: ClassVar[Mapping[str, str]] = {}

    def __init__(self, members: Mapping[str, Any]) -> None:
        types = self._types
        # The members of an object of an unknown class have no known types: the objects among them are of an unknown class too.
        other = ApiObject.__name__ if type(self) is ApiObject else None
        self._members: dict[str, Any] = {
            name: value if (kind := types.get(name, other)) is None else wrap(value, kind, name)
            for name, value in members.items()
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
        return isinstance(other, ApiObject) and self.to_dict() == other.to_dict()

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


class Expandable(str, Generic[T]):
    """The id of an object, which also has the object if the argument `expand` of the request named the member.

    It is a `str` in either case, so it can be passed wherever an id is expected.
    """

    __slots__ = ("_member", "_object")

    _member: str
    _object: T | None

    def __new__(cls, id: str, member: str = "", object: T | None = None) -> Expandable[T]:
        self = super().__new__(cls, id)
        self._member = member
        self._object = object
        return self

    @property
    def is_expanded(self) -> bool:
        """Whether the response had the object."""
        return self._object is not None

    @property
    def object(self) -> T:
        """The object. Raises `NotExpandedError` if the response had only its id."""
        if self._object is None:
            raise NotExpandedError(self._member, self)
        return self._object

    if not TYPE_CHECKING:  # A type checker knows the attributes.

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"an id has no attribute {name!r}; the members of the expanded object are those of `.object`")

    def __repr__(self) -> str:
        return repr(self._object) if self._object is not None else super().__repr__()
