import { join } from 'node:path';
import { z } from 'zod';
import { DocketError } from '../base/error.ts';
import { done, fail, type Outcome } from '../base/outcome.ts';
import { type ListRecord, type OrgRef, recordSchema } from '../contract/organization.ts';
import type { ListCall } from '../plan/plan.ts';
import type { ComplianceClient, ListPage } from './client.ts';
import type { Column } from './dataset.ts';
import { listColumns } from './list-columns.ts';
import { listOrder } from './list-order.ts';
import { type Line, type Paid, type PaidCall, paidCall } from './paid-call.ts';
import type { ResponseStore } from './response-store.ts';
import { type RowFile, type RowWriter, writeRows } from './rows.ts';

/** A whole list as it was seen. */
export interface ListAnswer {
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

export interface ListWalk {
  readonly client: ComplianceClient;
  readonly responses: ResponseStore;
  readonly run: string;
  /** The line of the general rate (600 reads a minute), not of the metrics budget. */
  readonly line: Line;
  /** Where the rows are written; the folder lives as long as they are read. */
  readonly folder: string;
}

/**
 * All pages of a list, each kept as soon as it came: a resumed run goes on at the page where it stopped. The rows go to
 * a file, so that memory does not grow with the list. A record that appears twice, because the list grew while it was
 * read, is taken as it was first seen. Refuses pages that go in a circle.
 */
export async function walkList(
  walk: ListWalk,
  call: ListCall,
  org: number,
  how: Omit<PaidCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<ListAnswer>> {
  const file = await writeRows(join(walk.folder, `${call.id}.ndjson`));
  try {
    return await walkInto(file, walk, call, org, how);
  } finally {
    await file.close();
  }
}

async function walkInto(
  file: RowWriter,
  { client, responses, run, line }: ListWalk,
  call: ListCall,
  org: number,
  how: Omit<PaidCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<ListAnswer>> {
  const query = { org, list: call.list, ordering: call.ordering, search: call.search };
  const list = listColumns();
  const order = listOrder(call.ordering);
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
      const attempt = (): Promise<ListPage> => client.page(query, at, how.signal);
      const paid: Outcome<Paid<ListPage>> = await paidCall(line, { ...how, id: `${run}:${name}`, attempt });
      if (paid.kind !== 'done') return paid;
      page = paid.value.value;
      await responses.put(run, name, { body: page, correlationId: null, at: line.clock.now() });
    }
    const before = seen.size;
    const fresh = page.records.filter(({ id }) => !seen.has(id) && seen.add(id));
    for (const record of fresh) order.see(record);
    await file.append(fresh.map(list.see));
    if (page.count !== null) counts.add(page.count);
    if (page.next === null) {
      const columns = list.columns();
      const rows = await file.end(columns.map((column) => column.name));
      // A record that was added between two pages moves the others, and may itself come late.
      const ordered = order.kept() || counts.size > 1;
      return done({ rows, columns, leftOut: list.leftOut(), pages: number, counts: [...counts], ordered, saved });
    }
    if (visited.has(page.next) || seen.size === before) return fail(circle(call, org, number));
    visited.add(page.next);
    next = page.next;
  }
}

const circle = (call: ListCall, org: number, page: number) =>
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
export async function numericOrg(
  { client, line, run }: ListWalk,
  org: OrgRef,
  how: Omit<PaidCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<number>> {
  if (org !== 'current') return done(org);
  const paid = await paidCall(line, {
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
