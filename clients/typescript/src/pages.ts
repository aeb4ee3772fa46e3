/** Lists: a page at a time, or every object of all pages. */

export interface PageBody<T> {
  data: T[];
  next_page_url: string | null;
  previous_page_url: string | null;
}

/** One page of a list. Iterating over it goes on through all pages after it. */
export class Page<T> implements AsyncIterable<T> {
  readonly data: T[];
  readonly nextPageUrl: string | null;
  readonly previousPageUrl: string | null;
  readonly #load: (url: string) => Promise<Page<T>>;

  constructor(body: PageBody<T>, load: (url: string) => Promise<Page<T>>) {
    this.data = body.data;
    this.nextPageUrl = body.next_page_url;
    this.previousPageUrl = body.previous_page_url;
    this.#load = load;
  }

  /** The next page, or null after the last one. */
  async nextPage(): Promise<Page<T> | null> {
    return this.nextPageUrl === null ? null : this.#load(this.nextPageUrl);
  }

  /** The page before this one, or null before the first one. */
  async previousPage(): Promise<Page<T> | null> {
    return this.previousPageUrl === null ? null : this.#load(this.previousPageUrl);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (let page: Page<T> | null = this; page !== null; page = await page.nextPage()) yield* page.data;
  }
}

/** A list that is being requested: `await` it for its first page, or iterate over it for all objects. */
export class PagePromise<T> implements Promise<Page<T>>, AsyncIterable<T> {
  readonly [Symbol.toStringTag] = "PagePromise";
  readonly #load: () => Promise<Page<T>>;
  #first: Promise<Page<T>> | undefined;

  constructor(load: () => Promise<Page<T>>) {
    this.#load = load;
  }

  then<A = Page<T>, B = never>(
    fulfilled?: ((page: Page<T>) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#first ??= this.#load();
    return this.#first.then(fulfilled, rejected);
  }

  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Page<T> | B> {
    return this.then(null, rejected);
  }

  finally(settled?: (() => void) | null): Promise<Page<T>> {
    return this.then().finally(settled);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    yield* await this;
  }

  /** All objects, at most `limit` of them. */
  async toArray(limit = Number.POSITIVE_INFINITY): Promise<T[]> {
    const objects: T[] = [];
    if (limit <= 0) return objects;
    for await (const object of this) {
      objects.push(object);
      if (objects.length >= limit) break;
    }
    return objects;
  }
}
