import type { DeliveryRow, DeliveryState, Ledger } from '../deliver/ledger.ts';
import { pageOf, readCursor } from '../run/page.ts';
import type { RunFilter, RunPosition, RunStore } from '../run/record.ts';
import { newestFirst } from './run-index.ts';

export interface DeliveryFilter {
  /** Organizations whose deliveries may be seen. */
  readonly orgs: readonly string[] | '*';
  readonly report?: string;
  readonly run?: string;
  readonly state?: DeliveryState;
  /** `next` of the page before. Throws `usage.invalid` for a text that is none. */
  readonly after?: string;
  /** Runs that are looked through, newest first; with `state: 'unknown'`, all of them are, and so many rows come back. */
  readonly limit: number;
}

/** Some deliveries, and where the next ones begin; null when these are the last. A page may be empty and not be the last. */
export interface DeliveryPage {
  readonly deliveries: readonly DeliveryRow[];
  readonly next: string | null;
}

/** Rows that wait for a decision, read at once. */
const BATCH_SIZE = 500;

/** Deliveries by run, newest first; of one run all of them; those that are `unknown` the longest waiting first. */
export async function pageOfDeliveries(
  filter: DeliveryFilter,
  { runs, ledger }: { readonly runs: Pick<RunStore, 'list'>; readonly ledger: Pick<Ledger, 'list' | 'unknown'> },
): Promise<DeliveryPage> {
  const { orgs, report, run, state, limit } = filter;
  const after = filter.after === undefined ? undefined : readCursor(filter.after);
  const visible = (row: DeliveryRow): boolean =>
    (orgs === '*' || orgs.includes(row.org)) &&
    (report === undefined || row.report === report) &&
    (state === undefined || row.state === state);
  if (run !== undefined) return { deliveries: (await ledger.list(run)).filter(visible), next: null };
  if (state === 'unknown') return pageOfUnknown(ledger, visible, after, limit);
  const page = await pageOf(ofThese(runs, orgs), {
    ...(report === undefined ? {} : { report }),
    ...(after === undefined ? {} : { after }),
    limit,
  });
  const rows = await Promise.all(page.runs.map(({ id }) => ledger.list(id)));
  return { deliveries: rows.flat().filter(visible), next: page.next };
}

/** A store that lists the runs of these organizations alone. */
export const ofThese = (runs: Pick<RunStore, 'list'>, orgs: readonly string[] | '*'): Pick<RunStore, 'list'> =>
  orgs === '*'
    ? runs
    : {
        list: async (filter: RunFilter) => {
          const each = await Promise.all([...new Set(orgs)].map((org) => runs.list({ ...filter, org })));
          return each.flat().sort(newestFirst).slice(0, filter.limit);
        },
      };

async function pageOfUnknown(
  ledger: Pick<Ledger, 'unknown'>,
  visible: (row: DeliveryRow) => boolean,
  after: RunPosition | undefined,
  limit: number,
): Promise<DeliveryPage> {
  const found: DeliveryRow[] = [];
  let last = after && { at: after.createdAt, id: after.id };
  // One more than the page holds tells whether there is another.
  for (let more = true; more && found.length <= limit; ) {
    const rows = await ledger.unknown(BATCH_SIZE, last);
    found.push(...rows.filter(visible));
    last = rows.at(-1);
    more = rows.length === BATCH_SIZE;
  }
  const deliveries = found.slice(0, limit);
  const end = deliveries.at(-1);
  return { deliveries, next: end === undefined || found.length <= limit ? null : `${end.at}-${end.id}` };
}
