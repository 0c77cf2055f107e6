import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type FetchedList, fetchList } from '../../src/fetch/fetch-list.ts';
import { listTable as buildListTable } from '../../src/fetch/internal/tables/list-table.ts';
import { rateLimitContext } from '../../src/fetch/rate-limit/rate-limited-call.ts';
import { listCall } from '../../src/plan/requests/call.ts';
import { doneOf, fetchingFrom } from '../support/fetch-harness.ts';
import { type HostileServer, hostileServer, json } from '../support/hostile-server.ts';
import { notesIn } from '../support/notes.ts';
import { sectionOf, WEEK } from '../support/reports.ts';
import { rowsOf } from '../support/rows.ts';

let server: HostileServer;
beforeEach(async () => {
  server = await hostileServer();
});
afterEach(() => server.close());

const SECTION = sectionOf({ id: 'roster', list: 'profiles' });
const listTable = (section: typeof SECTION, list: FetchedList) => buildListTable(section, list, WEEK);
const walk = (section = SECTION, maxPages?: number) => {
  const context = fetchingFrom(server.url, 'a.b');
  const { client, responses, run, signal, folder } = context;
  return fetchList(
    { client, responses, run, folder, rateLimit: rateLimitContext('acme', context, context.reads), maxPages },
    listCall(7, 'profiles', section),
    7,
    { onWait: () => {}, signal },
  );
};
/** Serves these pages by number. `next` is the number of the page that a page links to. */
const serve = (pages: { count: number; ids: (number | object)[]; next?: number }[]) =>
  server.behave((request, response, body) => {
    const number = Number(new URL(request.url ?? '', server.url).searchParams.get('page') ?? 1);
    const page = pages[number - 1]!;
    const next = page.next === undefined ? null : `${server.url}/api/orgs/7/profiles/?page=${page.next}`;
    const results = page.ids.map((id) => (typeof id === 'number' ? { id, name: `n${id}` } : id));
    json({ count: page.count, next, previous: null, results })(request, response, body);
  });
const ids = (answer: FetchedList) => rowsOf(answer).map(({ values }) => values.id);

test('a record that moved to the next page because the list grew is shown once, and a note names the change', async () => {
  serve([
    { count: 3, ids: [1, 2], next: 2 },
    { count: 4, ids: [2, 3] },
  ]);
  const answer = doneOf(await walk());
  expect(ids(answer)).toEqual([1, 2, 3]);
  expect(notesIn(listTable(SECTION, answer))).toEqual([
    {
      code: 'count_changed',
      text: 'The list changed while it was read (it announced 3, then 4); 3 records were read.',
      incomplete: true,
    },
  ]);
});

test('a table with fewer records than the list counts is incomplete', async () => {
  serve([{ count: 5, ids: [1, 2] }]);
  expect(listTable(SECTION, doneOf(await walk())).notes).toMatchObject([{ code: 'missing', incomplete: true }]);
});

test('an empty list gives a table without rows or notes', async () => {
  serve([{ count: 0, ids: [] }]);
  const table = listTable(SECTION, doneOf(await walk()));
  expect(rowsOf(table)).toEqual([]);
  expect(table.notes).toEqual([]);
});

describe('a list that was requested in the order', () => {
  const page = (...scores: unknown[]) => scores.map((score, id) => ({ id: id + 1, name: 'n', score }));
  const notesOf = async (ordering: string, records: object[]) => {
    const section = sectionOf({ id: 'roster', list: 'profiles', ordering });
    serve([{ count: records.length, ids: records }]);
    return listTable(section, doneOf(await walk(section))).notes;
  };

  test.each([
    ['score', page(2, 1)],
    ['-score', page(1, 2)],
    ['-score', page(3, null, 4)],
    ['score', page('2026-11-09T10:00:00Z', '2026-11-09T09:59:00Z')],
    ['-score', page('2026-11-09', '2026-11-10')],
  ])('%s and arrives in another order is incomplete', async (ordering, records) => {
    expect(await notesOf(ordering, records)).toEqual([
      { code: 'order_mismatch', message: { id: 'list_order', of: { by: ordering } }, incomplete: true },
    ]);
  });

  test.each([
    ['score', page(1, 1, null, 2)],
    ['-score', page(3, 2, 2)],
    // The service decides how texts are sorted.
    ['score', page('b', 'a', 'Ä')],
    ['elsewhere', page(2, 1)],
    ['-score', page('2026-11-10T00:30:00+02:00', '2026-11-09T22:00:00Z')],
  ])('%s and arrives in that order is complete', async (ordering, records) => {
    expect(await notesOf(ordering, records)).toEqual([]);
  });

  test('of IDs and grew while it was read has only the note that it changed', async () => {
    const section = sectionOf({ id: 'roster', list: 'profiles', ordering: 'id' });
    serve([
      { count: 3, ids: [1, 5], next: 2 },
      { count: 4, ids: [4, 6] },
    ]);
    expect(listTable(section, doneOf(await walk(section))).notes.map(({ code }) => code)).toEqual(['count_changed']);
  });
});

test.each([
  ['link to themselves', [{ count: 4, ids: [1, 2], next: 1 }]],
  [
    'link to each other in a circle',
    [
      { count: 4, ids: [1, 2], next: 2 },
      { count: 4, ids: [3, 4], next: 1 },
    ],
  ],
  [
    'are empty and link to a next page',
    [
      { count: 4, ids: [1], next: 2 },
      { count: 4, ids: [], next: 3 },
      { count: 4, ids: [], next: 4 },
    ],
  ],
])('pages that %s are refused instead of followed forever', async (_name, pages) => {
  serve(pages);
  expect(await walk()).toMatchObject({ kind: 'fail', error: { code: 'api.unsafe', retryable: false } });
  expect(server.requests.length).toBeLessThanOrEqual(3);
});

test.each([
  ['counts too many records on its second page', 9, 3],
  ['has more pages than its count suggests', 1, 2],
])('a list that %s is refused because of too many pages', async (_name, count, maxPages) => {
  serve([
    { count, ids: [1], next: 2 },
    { count, ids: [2], next: 3 },
    { count, ids: [3], next: 4 },
    { count, ids: [4] },
  ]);
  expect(await walk(SECTION, maxPages)).toMatchObject({
    kind: 'fail',
    error: { code: 'api.unsafe', retryable: false },
  });
  expect(server.requests).toHaveLength(2);
});

test('a list with a short first page is not refused as too long', async () => {
  serve([
    { count: 5, ids: [1], next: 2 },
    { count: 5, ids: [2, 3, 4, 5] },
  ]);
  expect(await walk(SECTION, 2)).toMatchObject({ kind: 'done' });
});

test('a page that is linked a second time is refused, even if it would have new records', async () => {
  let id = 0;
  server.behave((request, response, body) => {
    id += 1;
    const next = `${server.url}/api/orgs/7/profiles/?page=2`;
    json({ count: 9, next, previous: null, results: [{ id }] })(request, response, body);
  });
  expect(await walk()).toMatchObject({ kind: 'fail', error: { code: 'api.unsafe' } });
  expect(server.requests.length).toBe(2);
});

test('a page that is linked a second time under another host is refused', async () => {
  let id = 0;
  server.behave((request, response, body) => {
    id += 1;
    const next = `http://host-${id}.example/api/orgs/7/profiles/?page=2`;
    json({ count: 9, next, previous: null, results: [{ id }] })(request, response, body);
  });
  expect(await walk()).toMatchObject({ kind: 'fail', error: { code: 'api.unsafe' } });
  expect(server.requests.length).toBe(2);
});

test('a list has columns for ID, name and each other field with single values, typed if all values agree', async () => {
  serve([
    {
      count: 3,
      ids: [
        { id: 1, name: 'a', score: 1, tags: ['x'], active: true, mixed: 1 },
        { id: 2, name: 'b', score: 1.5, owner: { id: 3 }, mixed: 'one', since_when: null },
        { id: 3, name: 'c', score: null },
      ],
    },
  ]);
  const table = listTable(SECTION, doneOf(await walk()));
  expect(table.columns.map(({ name, label, type }) => [name, label, type])).toEqual([
    ['id', 'ID', 'integer'],
    ['name', 'Name', 'string'],
    ['score', 'Score', 'number'],
    ['active', 'Active', 'boolean'],
    ['mixed', 'Mixed', 'string'],
    ['since_when', 'Since when', 'string'],
  ]);
  expect(rowsOf(table).map(({ values }) => values.mixed)).toEqual([1, 'one', null]);
  expect(notesIn(table)).toEqual([
    {
      code: 'fields_left_out',
      text: 'Not shown, because they hold more than a single value: tags, owner.',
      incomplete: false,
    },
  ]);
});
