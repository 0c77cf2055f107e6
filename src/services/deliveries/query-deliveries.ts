import { isOfValue } from '../../definitions/split.ts';
import type { DeliveryRow, DeliveryState, Ledger } from '../../deliver/ledger/ledger.ts';
import { newestFirst } from '../../queue/runs/run-index.ts';
import { listRunPage, parseRunCursor } from '../../run/run-page.ts';
import type { RunCursor, RunFilter, RunStore } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { isReportDelivery } from './decision-rules.ts';

export interface DeliveryFilter {
  /** The visible organizations. */
  readonly orgs: readonly string[] | '*';
  readonly report?: string | undefined;
  readonly run?: string | undefined;
  readonly state?: DeliveryState | undefined;
  /** With `split`: only deliveries of this value's packs. */
  readonly value?: string | undefined;
  /** `next` of the previous page. Throws `usage.invalid` for an invalid cursor. */
  readonly after?: string | undefined;
  /** How many runs to read at most, newest first. With `state: 'unknown'`: how many rows of all runs. */
  readonly limit: number;
}

/** A page of deliveries. `next` is null on the last page. A page may be empty without being the last. */
export interface DeliveryPage {
  readonly deliveries: readonly DeliveryRow[];
  readonly next: string | null;
}

/** Undecided rows per read. */
const BATCH_SIZE = 500;

/**
 * Lists deliveries: by run, newest first; or all of one run; or `unknown` ones, oldest first, without notices to
 * owners, which need no decision.
 */
export async function queryDeliveries(filter: DeliveryFilter, { runs, ledger }: Deployment): Promise<DeliveryPage> {
  const { orgs, report, run, state, value, limit } = filter;
  const after = filter.after === undefined ? undefined : parseRunCursor(filter.after);
  const visible = (row: DeliveryRow): boolean =>
    (orgs === '*' || orgs.includes(row.org)) &&
    (report === undefined || row.report === report) &&
    (state === undefined || row.state === state) &&
    (value === undefined || isOfValue(row, value));
  if (run !== undefined) return { deliveries: (await ledger.list(run)).filter(visible), next: null };
  if (state === 'unknown') return queryUnknown(ledger, visible, after, limit);
  const page = await listRunPage(restrictToOrgs(runs, orgs), { report, after, limit });
  const rows = await Promise.all(page.runs.map(({ id }) => ledger.list(id)));
  return { deliveries: rows.flat().filter(visible), next: page.next };
}

/** Restricts a store to the runs of these organizations. */
export const restrictToOrgs = (runs: RunStore, orgs: readonly string[] | '*'): RunStore =>
  orgs === '*'
    ? runs
    : {
        ...runs,
        list: async (filter: RunFilter) => {
          const each = await Promise.all([...new Set(orgs)].map((org) => runs.list({ ...filter, org })));
          return each.flat().sort(newestFirst).slice(0, filter.limit);
        },
      };

async function queryUnknown(
  ledger: Ledger,
  visible: (row: DeliveryRow) => boolean,
  after: RunCursor | undefined,
  limit: number,
): Promise<DeliveryPage> {
  const found: DeliveryRow[] = [];
  let last = after && { at: after.createdAt, id: after.id };
  // One row more than needed shows whether there is another page.
  for (let more = true; more && found.length <= limit; ) {
    const rows = await ledger.listUnknown(BATCH_SIZE, last);
    // Nobody has to decide about a notice, because the page shows what it says.
    found.push(...rows.filter(visible).filter(isReportDelivery));
    last = rows.at(-1);
    more = rows.length === BATCH_SIZE;
  }
  const deliveries = found.slice(0, limit);
  const end = deliveries.at(-1);
  return { deliveries, next: end === undefined || found.length <= limit ? null : `${end.at}-${end.id}` };
}
