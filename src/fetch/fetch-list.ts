import { join } from 'node:path';
import { z } from 'zod';
import { DocketError } from '../base/error.ts';
import { done, fail, type Outcome } from '../base/outcome.ts';
import { type ListRecord, type OrgRef, recordSchema } from '../contract/organization.ts';
import type { ListCall } from '../plan/plan.ts';
import type { ResponseStore } from './cache/response-store.ts';
import type { ComplianceClient, ListPage } from './client/compliance-client.ts';
import type { Column, RowFile } from './dataset.ts';
import { type ListNames, listColumnCollector } from './internal/tables/columns/list-columns.ts';
import {
  type RateLimitContext,
  type RateLimitedCall,
  type RateLimitedResult,
  rateLimitedCall,
} from './rate-limit/rate-limited-call.ts';
import { type RowWriter, writeRows } from './rows.ts';

/** All records of a list. */
export interface FetchedList {
  readonly rows: RowFile;
  readonly columns: readonly Column[];
  /** Names of fields with lists or objects, which a table cannot show. */
  readonly leftOut: readonly string[];
  readonly pages: number;
  /**
   * The distinct totals that the pages reported, in order. More than one means that the list changed while it was read.
   */
  readonly counts: readonly number[];
  /** The records are in the requested order, as far as that can be checked. True for a list that changed. */
  readonly ordered: boolean;
  /** All pages came from the response store. */
  readonly saved: boolean;
}

const storedPageSchema = z.object({
  count: z.int().nullable(),
  next: z.string().nullable(),
  records: z.array(recordSchema),
});

/**
 * The most pages of one list: two million records at 100 a page. A longer list would take hours and the worker's
 * memory.
 */
const MAX_LIST_PAGES = 20_000;

export interface ListFetchContext {
  readonly client: ComplianceClient;
  readonly responses: ResponseStore;
  readonly run: string;
  /** From the `reads` budget, not the metrics budget. */
  readonly rateLimit: RateLimitContext;
  /** Folder for the file with the rows. It must exist as long as they are read. */
  readonly folder: string;
  /** Names of fields and codes. Absent: the service's own. */
  readonly names?: ListNames | undefined;
  /** Default: `MAX_LIST_PAGES`. */
  readonly maxPages?: number | undefined;
}

/**
 * Fetches all pages of a list. Each page is stored when received, so that a resumed run continues with the next one.
 * The rows go to a file, so that memory use is constant. If the list grew meanwhile and a record appears twice, its
 * first version is used. Fails with `api.unsafe` on a pagination loop and on a list of more than `maxPages` pages: at
 * the second page if that shows the length.
 */
export async function fetchList(
  context: ListFetchContext,
  call: ListCall,
  org: number,
  options: Omit<RateLimitedCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<FetchedList>> {
  const file = await writeRows(join(context.folder, `${call.id}.ndjson`));
  try {
    return await fetchPages(file, context, call, org, options);
  } finally {
    await file.close();
  }
}

async function fetchPages(
  file: RowWriter,
  { client, responses, run, rateLimit, names, maxPages = MAX_LIST_PAGES }: ListFetchContext,
  call: ListCall,
  org: number,
  options: Omit<RateLimitedCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<FetchedList>> {
  const query = { org, list: call.list, ordering: call.ordering, search: call.search };
  const list = listColumnCollector(call.list, names);
  const order = listOrderCheck(call.ordering);
  const seen = new Set<ListRecord['id']>();
  const counts = new Set<number>();
  const visited = new Set<string>();
  let saved = true;
  let next: string | null = null;
  /** The number of records on the longest page. */
  let longest = 1;
  for (let number = 1; ; number += 1) {
    const name = `${call.id}:${number}`;
    const stored = storedPageSchema.safeParse((await responses.get(run, name))?.body).data;
    let page: ListPage | undefined = stored;
    if (page === undefined) {
      saved = false;
      const at: string | null = next;
      const attempt = (): Promise<ListPage> => client.listPage(query, at, options.signal);
      const result: Outcome<RateLimitedResult<ListPage>> = await rateLimitedCall(rateLimit, {
        ...options,
        id: `${run}:${name}`,
        attempt,
      });
      if (result.kind !== 'done') return result;
      page = result.value.value;
      await responses.put(run, name, { body: page, correlationId: null, at: rateLimit.clock.now() });
    }
    const before = seen.size;
    const newRecords = page.records.filter(({ id }) => !seen.has(id) && seen.add(id));
    for (const record of newRecords) order.addRecord(record);
    await file.append(newRecords.map(list.addRecord));
    if (page.count !== null) counts.add(page.count);
    if (page.next === null) {
      const columns = list.columns();
      const rows = await file.end(columns.map((column) => column.name));
      // A record that was added between two pages shifts the others, and may itself be out of order.
      const ordered = order.isOrdered() || counts.size > 1;
      return done({ rows, columns, leftOut: list.leftOut(), pages: number, counts: [...counts], ordered, saved });
    }
    longest = Math.max(longest, page.records.length);
    // The first page alone may be short, so its length does not count.
    const estimated = number === 1 ? 0 : Math.ceil((page.count ?? 0) / longest);
    const pages = Math.max(number + 1, estimated);
    if (pages > maxPages) return fail(tooManyPagesError(call, org, pages, maxPages));
    if (visited.has(page.next) || seen.size === before) return fail(pageCycleError(call, org, number));
    visited.add(page.next);
    next = page.next;
  }
}

const pageCycleError = (call: ListCall, org: number, page: number) =>
  new DocketError('api.unsafe', `List pagination loops: page ${page} has no new records but links to a next page.`, {
    where: `GET /api/orgs/${org}/${call.list}/`,
    expected: 'a last page',
    next: 'Report it to the service.',
  });

const tooManyPagesError = (call: ListCall, org: number, pages: number, maxPages: number) =>
  new DocketError('api.unsafe', 'The list has too many pages for one run.', {
    where: `GET /api/orgs/${org}/${call.list}/`,
    expected: `at most ${maxPages} pages`,
    got: `at least ${pages}`,
    next: 'Narrow the list with `search`.',
  });

/**
 * Returns the organization's number, which list paths need (specification §4). Fails with `config.invalid` if `current`
 * is ambiguous: a guess could export the records of another organization.
 */
export async function resolveOrgId(
  { client, rateLimit, run }: ListFetchContext,
  org: OrgRef,
  options: Omit<RateLimitedCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<number>> {
  if (org !== 'current') return done(org);
  const result = await rateLimitedCall(rateLimit, {
    ...options,
    id: `${run}:organizations`,
    attempt: () => client.organizations(options.signal),
  });
  if (result.kind !== 'done') return result;
  const organizations = result.value.value;
  const [only] = organizations;
  if (only !== undefined && organizations.length === 1) return done(only.id);
  const choices = organizations.map(({ id, name }) => `${id} (${name})`).join(', ');
  return fail(
    new DocketError(
      'config.invalid',
      organizations.length === 0
        ? 'The API key can access no organization.'
        : '`org: current` is ambiguous: the API key can access several organizations.',
      {
        where: 'org.yaml: org',
        expected: 'the id of one organization',
        got: organizations.length === 0 ? 'current' : `current, which may be ${choices}`,
        next: 'Write the id as `org` in org.yaml.',
      },
    ),
  );
}

/** Checks that the records of a list are in the requested order. */
export type ListOrderCheck = ReturnType<typeof listOrderCheck>;

const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * Makes numbers of numbers and instants, which can be compared without the service's collation; undefined for other
 * values.
 */
function comparable(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const at = typeof value === 'string' && ISO_INSTANT.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** @param ordering a field name, reversed by a leading `-` (specification §4); undefined: every order is right */
function listOrderCheck(ordering: string | undefined) {
  const reversed = ordering?.startsWith('-') === true;
  const field = reversed ? ordering?.slice(1) : ordering;
  let last: number | undefined;
  let ordered = true;
  return {
    addRecord: (record: ListRecord): void => {
      const value = field === undefined ? undefined : comparable(record[field]);
      if (value === undefined) return;
      if (last !== undefined && (reversed ? value > last : value < last)) ordered = false;
      last = value;
    },
    /** False after a record that should have come before its predecessor. */
    isOrdered: (): boolean => ordered,
  };
}
