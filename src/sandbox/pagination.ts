import { firstIndex } from './generator/fact-tables.ts';
import type { ListItem, RecordList } from './lists.ts';
import { notFound, ProblemError } from './problem.ts';

/** Records per page; the specification does not define it (§8). */
export const PAGE_SIZE = 50;

const pageLink = (url: URL, page: number): string => {
  const link = new URL(url);
  link.searchParams.set('page', String(page));
  return link.href;
};

/**
 * The envelope of specification §2.3: the page of a list that `page`, `ordering` and `search` in the URL select. Links
 * keep all parameters. Throws a 404 `ProblemError` for a missing page and a 422 for an unknown ordering.
 */
export function paginate(list: RecordList, url: URL) {
  const requested = url.searchParams.get('page') ?? '1';
  const page = /^[1-9]\d{0,8}$/.test(requested) ? Number(requested) : Number.NaN;
  const places = orderRecords(
    list,
    searchRecords(list, url.searchParams.get('search')),
    url.searchParams.get('ordering'),
  );
  const pages = Math.max(1, Math.ceil(places.length / PAGE_SIZE));
  if (!(page <= pages)) throw notFound(`There is no page ${JSON.stringify(requested)}; the list has ${pages}.`);
  return {
    count: places.length,
    next: page < pages ? pageLink(url, page + 1) : null,
    previous: page > 1 ? pageLink(url, page - 1) : null,
    results: places.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE).map(list.at),
  };
}

/** The indexes of records that contain every word of the search, ignoring case. */
function searchRecords(list: RecordList, search: string | null): number[] {
  const all = Array.from({ length: list.count }, (_, place) => place);
  const words = (search ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return all;
  return all.filter((place) => {
    const record = list.at(place);
    const text = list.searchable.map((field) => String(record[field] ?? '').toLowerCase());
    return words.every((word) => text.some((value) => value.includes(word)));
  });
}

function orderRecords(list: RecordList, places: number[], ordering: string | null): number[] {
  if (ordering === null || ordering === '' || ordering === 'id') return places;
  const reversed = ordering.startsWith('-');
  const field = reversed ? ordering.slice(1) : ordering;
  if (!list.orderable.includes(field)) {
    const detail = `This list cannot be ordered by "${field}".`;
    throw new ProblemError(422, 'validation.failed', detail, {
      errors: [{ pointer: '?ordering', code: 'invalid', detail, metadata: { allowed: list.orderable } }],
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

/** Finds the record with an id, in a list that is ordered by id. */
export function findRecord(list: RecordList, id: string): ListItem | undefined {
  const place = firstIndex(list.count, (index) => list.at(index).id >= Number(id));
  const record = place < list.count ? list.at(place) : undefined;
  return String(record?.id) === id ? record : undefined;
}
