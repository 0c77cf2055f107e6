import type { Item, List } from './lists.ts';
import { notFound, Refusal } from './refusal.ts';

/** Records a page; the specification does not show the size (§8). */
export const PAGE_SIZE = 50;

/** The envelope of specification §2.3. */
export interface PageBody {
  readonly count: number;
  readonly next: string | null;
  readonly previous: string | null;
  readonly results: readonly Item[];
}

const pageOf = (url: URL, page: number): string => {
  const link = new URL(url);
  link.searchParams.set('page', String(page));
  return link.href;
};

/**
 * The page of a list that the URL asks for with `page`, `ordering` and `search`; links keep every parameter.
 * Throws a 404 `Refusal` for a page that is not there and a 422 for an ordering that the list does not have.
 */
export function pageBody(list: List, url: URL): PageBody {
  const asked = url.searchParams.get('page') ?? '1';
  const page = /^[1-9]\d{0,8}$/.test(asked) ? Number(asked) : Number.NaN;
  const places = ordered(list, searched(list, url.searchParams.get('search')), url.searchParams.get('ordering'));
  const pages = Math.max(1, Math.ceil(places.length / PAGE_SIZE));
  if (!(page <= pages)) throw notFound(`There is no page ${JSON.stringify(asked)}; the list has ${pages}.`);
  return {
    count: places.length,
    next: page < pages ? pageOf(url, page + 1) : null,
    previous: page > 1 ? pageOf(url, page - 1) : null,
    results: places.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE).map(list.at),
  };
}

/** Places of the records in which every word of the search occurs, in any letter case. */
function searched(list: List, search: string | null): number[] {
  const all = Array.from({ length: list.count }, (_, place) => place);
  const words = (search ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return all;
  return all.filter((place) => {
    const record = list.at(place);
    const text = list.searchable.map((field) => String(record[field] ?? '').toLowerCase());
    return words.every((word) => text.some((value) => value.includes(word)));
  });
}

function ordered(list: List, places: number[], ordering: string | null): number[] {
  if (ordering === null || ordering === '' || ordering === 'id') return places;
  const reversed = ordering.startsWith('-');
  const field = reversed ? ordering.slice(1) : ordering;
  if (!list.orderable.includes(field)) {
    throw new Refusal(422, 'validation.failed', `This list cannot be ordered by "${field}".`, {
      errors: [
        {
          pointer: '?ordering',
          code: 'invalid',
          detail: `This list cannot be ordered by "${field}".`,
          metadata: { allowed: list.orderable },
        },
      ],
    });
  }
  if (field === 'id') return places.reverse();
  const keys = new Map(places.map((place) => [place, list.at(place)[field] ?? null]));
  const sign = reversed ? -1 : 1;
  return places.sort((a, b) => {
    const [left, right] = [keys.get(a) ?? null, keys.get(b) ?? null];
    if (left === right) return a - b;
    if (left === null || right === null) return left === null ? 1 : -1;
    return sign * (String(left) < String(right) ? -1 : 1);
  });
}

/** The record with an id, which the list is in the order of. */
export function recordWith(list: List, id: string): Item | undefined {
  let low = 0;
  let high = list.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list.at(middle).id < Number(id)) low = middle + 1;
    else high = middle;
  }
  const record = low < list.count ? list.at(low) : undefined;
  return String(record?.id) === id ? record : undefined;
}
