"""Lists: a page at a time, or every object of all pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, Generic, TypeVar

from ._objects import wrap

T = TypeVar("T")


class _Body(Generic[T]):
    data: list[T]
    next_page_url: str | None
    previous_page_url: str | None

    def __init__(self, name: str, body: dict[str, Any]) -> None:
        self.data = wrap(body["data"], name)
        self.next_page_url = body["next_page_url"]
        self.previous_page_url = body["previous_page_url"]


class Page(_Body[T]):
    """One page of a list. Iterating over it goes on through all pages after it."""

    def __init__(self, name: str, body: dict[str, Any], load: Callable[[str], Page[T]]) -> None:
        super().__init__(name, body)
        self._load = load

    def next_page(self) -> Page[T] | None:
        """The next page, or None after the last one."""
        return self._load(self.next_page_url) if self.next_page_url is not None else None

    def previous_page(self) -> Page[T] | None:
        """The page before this one, or None before the first one."""
        return self._load(self.previous_page_url) if self.previous_page_url is not None else None

    def __iter__(self) -> Iterator[T]:
        page: Page[T] | None = self
        while page is not None:
            yield from page.data
            page = page.next_page()


class AsyncPage(_Body[T]):
    """One page of a list. Iterating over it goes on through all pages after it."""

    def __init__(self, name: str, body: dict[str, Any], load: Callable[[str], Awaitable[AsyncPage[T]]]) -> None:
        super().__init__(name, body)
        self._load = load

    async def next_page(self) -> AsyncPage[T] | None:
        """The next page, or None after the last one."""
        return await self._load(self.next_page_url) if self.next_page_url is not None else None

    async def previous_page(self) -> AsyncPage[T] | None:
        """The page before this one, or None before the first one."""
        return await self._load(self.previous_page_url) if self.previous_page_url is not None else None

    async def __aiter__(self) -> AsyncIterator[T]:
        page: AsyncPage[T] | None = self
        while page is not None:
            for entry in page.data:
                yield entry
            page = await page.next_page()


class AsyncPageRequest(Generic[T]):
    """A list to be requested: `await` it for its first page, or iterate over it for all objects."""

    def __init__(self, load: Callable[[], Awaitable[AsyncPage[T]]]) -> None:
        self._load = load

    def __await__(self) -> Generator[Any, None, AsyncPage[T]]:
        return self._load().__await__()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for entry in await self._load():
            yield entry
