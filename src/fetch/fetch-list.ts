import { join } from 'node:path';
import { z } from 'zod';
import { DocketError } from '../base/error.ts';
import { done, fail, type Outcome } from '../base/outcome.ts';
import { type ListRecord, type OrgRef, recordSchema } from '../contract/organization.ts';
import type { ListCall } from '../plan/plan.ts';
import type { ResponseStore } from './cache/response-store.ts';
import type { ComplianceClient, ListPage } from './client/compliance-client.ts';
import type { Column } from './dataset.ts';
import {
  type RateLimitContext,
  type RateLimitedCall,
  type RateLimitedResult,
  rateLimitedCall,
} from './rate-limit/rate-limited-call.ts';
import { type RowFile, type RowWriter, writeRows } from './rows.ts';
import { listColumnCollector } from './tables/list-columns.ts';

/** A whole list as it was seen. */
export interface FetchedList {
  readonly rows: RowFile;
  readonly columns: readonly Column[];
  /** Names of fields that hold lists or objects: a table has no place for them. */
  readonly leftOut: readonly string[];
  readonly pages: number;
  /** What the pages said of the whole, in order and without repetition; more than one says the list changed meanwhile. */
  readonly counts: readonly number[];
  /** The records came in the order that was asked for, as far as that can be told; one that changes may not keep it. */
  readonly ordered: boolean;
  /** No page had to be asked for. */
  readonly saved: boolean;
}

const storedPageSchema = z.object({
  count: z.int().nullable(),
  next: z.string().nullable(),
  records: z.array(recordSchema),
});

export interface ListFetchContext {
  readonly client: ComplianceClient;
  readonly responses: ResponseStore;
  readonly run: string;
  /** The line of the general rate (600 reads a minute), not of the metrics budget. */
  readonly rateLimit: RateLimitContext;
  /** Where the rows are written; the folder lives as long as they are read. */
  readonly folder: string;
}

/**
 * All pages of a list, each kept as soon as it came: a resumed run goes on at the page where it stopped. The rows go to
 * a file, so that memory does not grow with the list. A record that appears twice, because the list grew while it was
 * read, is taken as it was first seen. Refuses pages that go in a circle.
 */
export async function fetchList(
  walk: ListFetchContext,
  call: ListCall,
  org: number,
  how: Omit<RateLimitedCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<FetchedList>> {
  const file = await writeRows(join(walk.folder, `${call.id}.ndjson`));
  try {
    return await fetchPages(file, walk, call, org, how);
  } finally {
    await file.close();
  }
}

async function fetchPages(
  file: RowWriter,
  { client, responses, run, rateLimit }: ListFetchContext,
  call: ListCall,
  org: number,
  how: Omit<RateLimitedCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<FetchedList>> {
  const query = { org, list: call.list, ordering: call.ordering, search: call.search };
  const list = listColumnCollector();
  const order = listOrderCheck(call.ordering);
  const seen = new Set<ListRecord['id']>();
  const counts = new Set<number>();
  const visited = new Set<string>();
  let saved = true;
  let next: string | null = null;
  for (let number = 1; ; number += 1) {
    const name = `${call.id}:${number}`;
    const kept = storedPageSchema.safeParse((await responses.get(run, name))?.body).data;
    let page: ListPage | undefined = kept;
    if (page === undefined) {
      saved = false;
      const at: string | null = next;
      const attempt = (): Promise<ListPage> => client.listPage(query, at, how.signal);
      const paid: Outcome<RateLimitedResult<ListPage>> = await rateLimitedCall(rateLimit, {
        ...how,
        id: `${run}:${name}`,
        attempt,
      });
      if (paid.kind !== 'done') return paid;
      page = paid.value.value;
      await responses.put(run, name, { body: page, correlationId: null, at: rateLimit.clock.now() });
    }
    const before = seen.size;
    const fresh = page.records.filter(({ id }) => !seen.has(id) && seen.add(id));
    for (const record of fresh) order.addRecord(record);
    await file.append(fresh.map(list.addRecord));
    if (page.count !== null) counts.add(page.count);
    if (page.next === null) {
      const columns = list.columns();
      const rows = await file.end(columns.map((column) => column.name));
      // A record that was added between two pages moves the others, and may itself come late.
      const ordered = order.isOrdered() || counts.size > 1;
      return done({ rows, columns, leftOut: list.leftOut(), pages: number, counts: [...counts], ordered, saved });
    }
    if (visited.has(page.next) || seen.size === before) return fail(pageCycleError(call, org, number));
    visited.add(page.next);
    next = page.next;
  }
}

const pageCycleError = (call: ListCall, org: number, page: number) =>
  new DocketError(
    'api.unsafe',
    `The pages of the list go in a circle: page ${page} brings nothing new and has a next one.`,
    {
      where: `GET /api/orgs/${org}/${call.list}/`,
      expected: 'a last page',
      next: 'Report it to the service.',
    },
  );

/**
 * The number that list paths need (specification §4). `current` is whatever the key reaches, and only when that is one
 * organization: guessing could export another's records.
 */
export async function resolveOrgId(
  { client, rateLimit, run }: ListFetchContext,
  org: OrgRef,
  how: Omit<RateLimitedCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<number>> {
  if (org !== 'current') return done(org);
  const paid = await rateLimitedCall(rateLimit, {
    ...how,
    id: `${run}:organizations`,
    attempt: () => client.organizations(how.signal),
  });
  if (paid.kind !== 'done') return paid;
  const reached = paid.value.value;
  const [only] = reached;
  if (only !== undefined && reached.length === 1) return done(only.id);
  const several = reached.map(({ id, name }) => `${id} (${name})`).join(', ');
  return fail(
    new DocketError(
      'config.invalid',
      reached.length === 0
        ? 'The API key reaches no organization.'
        : 'The API key reaches several organizations, so `org: current` does not say whose list to export.',
      {
        where: 'org.yaml: org',
        expected: 'the id of one organization',
        got: reached.length === 0 ? 'current' : `current, which may be ${several}`,
        next: 'Write the id as `org` in org.yaml.',
      },
    ),
  );
}

/** Watches whether the records of a list come in the order that was asked for. */
export interface ListOrderCheck {
  addRecord(record: ListRecord): void;
  /** False once a record came before one that it should follow. */
  isOrdered(): boolean;
}

const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** What can be compared without knowing how the service sorts texts: numbers and instants. */
function comparable(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  const at = typeof value === 'string' && ISO_INSTANT.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/**
 * @param ordering a field's name, `-` before it reverses (specification §4); undefined asks for no order
 */
export function listOrderCheck(ordering: string | undefined): ListOrderCheck {
  const reversed = ordering?.startsWith('-') === true;
  const field = reversed ? ordering?.slice(1) : ordering;
  let last: number | undefined;
  let kept = true;
  return {
    addRecord: (record) => {
      const value = field === undefined ? undefined : comparable(record[field]);
      if (value === undefined) return;
      if (last !== undefined && (reversed ? value > last : value < last)) kept = false;
      last = value;
    },
    isOrdered: () => kept,
  };
}
