import { DocketError, type ErrorJson, isStorageOutage, toDocketError } from '../../base/error.ts';
import { asciiLowerCase } from '../../base/text/fold.ts';
import { addressKey, recipientSearchText } from '../../definitions/allow-lists/recipients.ts';
import type { Period } from '../../definitions/periods/period.ts';
import type { DeliveryRow, DeliveryState } from '../../deliver/ledger/ledger.ts';
import type { DefinitionStore } from '../../queue/definitions/definition-store.ts';
import type { IndexedRecipient, SearchIndex } from '../../queue/runs/search-index.ts';
import { listRunPage, parseRunCursor } from '../../run/run-page.ts';
import type { DayRange, RunCursor, RunRecord } from '../../run/run-record.ts';
import { findFrozenDefinition } from '../definitions/frozen-definition.ts';
import { restrictToOrgs } from '../deliveries/query-deliveries.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { type DeliveredContent, deliveredContent } from './delivered-content.ts';

export interface ReceivedFilter {
  /** The visible organizations. */
  readonly orgs: readonly string[] | '*';
  /** An address in any case, or part of an address or a file location. */
  readonly to?: string | undefined;
  /** Only of runs whose period begins on one of these days. */
  readonly begins?: DayRange | undefined;
  readonly report?: string | undefined;
  /** Only of these reports, `org/report`. */
  readonly reports?: readonly string[] | undefined;
  readonly state?: DeliveryState | undefined;
  /** `next` of the previous page. */
  readonly after?: string | undefined;
  /** How many runs to read at most, newest first. */
  readonly limit: number;
}

/** A delivery with its report's title and content. */
export interface ReceivedDelivery {
  readonly row: DeliveryRow;
  readonly period: Period;
  /** From the definition that the run used. Null, like `content`, if that has expired or cannot be read. */
  readonly title: string | null;
  readonly content: DeliveredContent | null;
  /** Set if only the archive has the run: it has no page, and nothing can be decided. */
  readonly archived?: true;
}

/** `next` is null on the last page. A page may be empty without being the last. */
export interface ReceivedPage {
  readonly deliveries: readonly ReceivedDelivery[];
  readonly next: string | null;
  /** Why older deliveries from the archive are missing; undefined if none are. */
  readonly error?: ErrorJson | undefined;
}

/**
 * Finds deliveries of runs that Redis no longer has. Nothing is indexed: an entry disappears when its run leaves the
 * archive.
 */
export interface ArchivedDeliveries {
  /** Newest first. @param after `createdAt` is when the files were made. Throws `archive.unreachable`. */
  list(filter: Omit<ReceivedFilter, 'after'> & { readonly after?: RunCursor | undefined }): Promise<ArchivedPage>;
}

export interface ArchivedPage {
  readonly deliveries: readonly ReceivedDelivery[];
  /** Null on the last page. */
  readonly next: RunCursor | null;
  /** Why a run could not be read; undefined if all could. */
  readonly error: ErrorJson | undefined;
}

/** Most recipients for one filter, because the runs of each are a separate index. */
const MAX_RECIPIENTS = 500;

/**
 * Lists who received what: deliveries in all states to matching recipients, by run, newest first. Runs that Redis has
 * come first, then those that only the archive has. Throws `usage.invalid` for an invalid cursor, and for a text that
 * matches too many recipients.
 */
export async function listReceived(
  filter: ReceivedFilter,
  { archivedDeliveries, ...deployment }: Deployment & { readonly archivedDeliveries: ArchivedDeliveries },
): Promise<ReceivedPage> {
  const { orgs, to, begins, report, reports, state, limit } = filter;
  const inArchive = filter.after?.startsWith(ARCHIVED) === true;
  const cursor = inArchive ? filter.after?.slice(ARCHIVED.length) : filter.after;
  const after = cursor === undefined ? undefined : parseRunCursor(cursor);
  if (inArchive) return withArchived([], { ...filter, after }, archivedDeliveries);
  await deployment.searchIndex.refresh();
  const recipients = to === undefined ? undefined : await findNames(to, orgs, deployment.searchIndex);
  const page = await listRunPage(restrictToOrgs(deployment.runs, orgs), {
    recipients,
    begins,
    report,
    reports,
    after,
    limit,
  });
  const deliveries = await collectDeliveries(page.runs, deployment, (row) => {
    return (state === undefined || row.state === state) && (recipients?.includes(toRecipientName(row)) ?? true);
  });
  if (page.next !== null) return { deliveries, next: page.next };
  const left = Math.max(1, limit - page.runs.length);
  return withArchived(deliveries, { ...filter, after: undefined, limit: left }, archivedDeliveries);
}

/** Begins the cursor of a page that continues in the archive. */
const ARCHIVED = 'a';

/** Adds deliveries that only the archive has. An unreadable archive does not hide the others. */
async function withArchived(
  deliveries: readonly ReceivedDelivery[],
  filter: Parameters<ArchivedDeliveries['list']>[0],
  archivedDeliveries: ArchivedDeliveries,
): Promise<ReceivedPage> {
  try {
    const found = await archivedDeliveries.list(filter);
    const next = found.next === null ? null : `${ARCHIVED}${found.next.createdAt}-${found.next.id}`;
    return { deliveries: [...deliveries, ...found.deliveries], next, error: found.error };
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (!isStorageOutage(error) && !error.code.startsWith('archive.')) throw thrown;
    return { deliveries, next: null, error: error.toJSON() };
  }
}

/** The names, for `RunFilter.recipients`, that match a text. Throws `usage.invalid` for too many. */
export async function findNames(
  text: string,
  orgs: readonly string[] | '*',
  index: SearchIndex,
): Promise<readonly string[]> {
  const wanted = recipientSearchText(text.trim());
  const found = exactOr(wanted, await index.findRecipients(wanted, orgs));
  if (found.length <= MAX_RECIPIENTS) return found.map(({ name }) => name);
  throw new DocketError('usage.invalid', 'Too many recipients match.', {
    expected: `a text that at most ${MAX_RECIPIENTS} recipients contain`,
    got: `${JSON.stringify(text.slice(0, 80))}, which ${found.length} contain`,
    next: 'Give more of the address.',
  });
}

/** A complete address matches only itself: `board@acme.example` is also part of `keyboard@acme.example`. */
export function exactOr(text: string, found: readonly IndexedRecipient[]): readonly IndexedRecipient[] {
  const key = addressKey(text);
  const exact = found.filter(({ recipient }) => recipient === key);
  return exact.length > 0 ? exact : found;
}

/** The recipient's name in `RunFilter.recipients`. */
export const toRecipientName = ({ org, recipient }: DeliveryRow): string => `${org}/${recipientTerm(recipient)}`;

/** The matching deliveries of runs, in the order of the runs. */
export async function collectDeliveries(
  runs: readonly RunRecord[],
  { ledger, definitions }: Deployment,
  isMatch: (row: DeliveryRow) => boolean,
): Promise<readonly ReceivedDelivery[]> {
  const byVersion = new Map<string, ReturnType<typeof readableDefinition>>();
  const loadDefinition = (run: RunRecord) => {
    const name = `${run.org}/${run.report} ${run.digest}`;
    const found = byVersion.get(name) ?? readableDefinition(run, definitions);
    byVersion.set(name, found);
    return found;
  };
  const each = await Promise.all(
    runs.map(async (run) => {
      const rows = (await ledger.list(run.id)).filter(isMatch);
      const definition = rows.length === 0 ? undefined : await loadDefinition(run);
      return rows.map(
        (row): ReceivedDelivery => ({
          row,
          period: run.period,
          title: definition?.title ?? null,
          content: (definition && deliveredContent(row, definition)) ?? null,
        }),
      );
    }),
  );
  return each.flat();
}

/** Also undefined if this version of Docket cannot read the definition: the listing then shows less. */
const readableDefinition = (run: RunRecord, definitions: DefinitionStore) =>
  findFrozenDefinition(run, definitions).then(
    (frozen) => frozen?.definition,
    (thrown: unknown) => {
      if (toDocketError(thrown).code === 'definition.invalid') return undefined;
      throw thrown;
    },
  );

/**
 * The recipient's form in the index of recipients; `recipient-index.lua` has the same rule. Lower case, for ASCII
 * letters only. For a file location, only what precedes the first path part with a digit: a location usually names the
 * period, and would otherwise count as a new recipient each time. `s3://reports/acme/2026-W46/` becomes
 * `s3://reports/acme`.
 */
export function recipientTerm(recipient: string): string {
  const text = asciiLowerCase(recipient);
  const [, start = '', path = ''] = /^([a-z][a-z0-9+.-]*:\/\/[^/]*|[^/]*)(.*)$/s.exec(text) ?? [];
  let kept = start;
  for (const part of path.match(/\/[^/]*/g) ?? []) {
    if (/[0-9]/.test(part)) break;
    kept += part;
  }
  return kept.replace(/\/+$/, '') || text;
}
