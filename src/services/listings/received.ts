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
  /** Visible organizations. */
  readonly orgs: readonly string[] | '*';
  /** An address in any case, or a part of one or of the location of files. */
  readonly to?: string | undefined;
  /** Only of runs whose period begins on one of these days. */
  readonly begins?: DayRange | undefined;
  readonly report?: string | undefined;
  /** Only of these reports, `org/report`. */
  readonly reports?: readonly string[] | undefined;
  readonly state?: DeliveryState | undefined;
  /** `next` of the page before. */
  readonly after?: string | undefined;
  /** Maximum number of runs to read, newest first. */
  readonly limit: number;
}

/** A delivery with what it was about. */
export interface ReceivedDelivery {
  readonly row: DeliveryRow;
  readonly period: Period;
  /** Of the definition that the run used; null, as `content`, where that has expired or cannot be read. */
  readonly title: string | null;
  readonly content: DeliveredContent | null;
  /** Present where only the archive has the run: there is no page of it, and nothing to decide. */
  readonly archived?: true;
}

/** `next` is null on the last page; an empty page need not be the last. */
export interface ReceivedPage {
  readonly deliveries: readonly ReceivedDelivery[];
  readonly next: string | null;
  /** Why older deliveries in the archive are missing; undefined where none are. */
  readonly error?: ErrorJson | undefined;
}

/** Deliveries of runs that Redis no longer has. Nothing is indexed: an answer ends when its run leaves the archive. */
export interface ArchivedDeliveries {
  /** Newest first. @param after `createdAt` is when the files were made. Throws `archive.unreachable`. */
  list(filter: Omit<ReceivedFilter, 'after'> & { readonly after?: RunCursor | undefined }): Promise<ArchivedPage>;
}

export interface ArchivedPage {
  readonly deliveries: readonly ReceivedDelivery[];
  /** Null on the last page. */
  readonly next: RunCursor | null;
  /** Why a run could not be read; undefined where all could. */
  readonly error: ErrorJson | undefined;
}

export interface ReceivedPorts extends Deployment {
  readonly archivedDeliveries: ArchivedDeliveries;
}

/** Recipients of a filter: the runs of each are one index. */
const MAX_RECIPIENTS = 500;

/**
 * Who got what: the deliveries to matching recipients by run, newest first, in all states; those of runs that Redis has first,
 * then those that the archive alone has. Throws `usage.invalid` for an
 * invalid cursor, and for a text that matches too many recipients.
 */
export async function listReceived(filter: ReceivedFilter, ports: ReceivedPorts): Promise<ReceivedPage> {
  const { orgs, to, begins, report, reports, state, limit } = filter;
  const inArchive = filter.after?.startsWith(ARCHIVED) === true;
  const cursor = inArchive ? filter.after?.slice(ARCHIVED.length) : filter.after;
  const after = cursor === undefined ? undefined : parseRunCursor(cursor);
  if (inArchive) return withArchived([], { ...filter, after }, ports);
  await ports.searchIndex.refresh();
  const recipients = to === undefined ? undefined : await findNames(to, orgs, ports.searchIndex);
  const page = await listRunPage(restrictToOrgs(ports.runs, orgs), {
    recipients,
    begins,
    report,
    reports,
    after,
    limit,
  });
  const deliveries = await deliveriesOf(page.runs, ports, (row) => {
    return (state === undefined || row.state === state) && (recipients?.includes(nameOf(row)) ?? true);
  });
  if (page.next !== null) return { deliveries, next: page.next };
  const left = Math.max(1, limit - page.runs.length);
  return withArchived(deliveries, { ...filter, after: undefined, limit: left }, ports);
}

/** Begins the cursor of a page that the archive continues. */
const ARCHIVED = 'a';

/** These deliveries, and those that only the archive has. An archive that cannot be read hides none of the others. */
async function withArchived(
  deliveries: readonly ReceivedDelivery[],
  filter: Parameters<ArchivedDeliveries['list']>[0],
  { archivedDeliveries }: Pick<ReceivedPorts, 'archivedDeliveries'>,
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

/** The names of `RunFilter.recipients` for a text. Throws `usage.invalid` for too many. */
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

/** A complete address means this one alone: `board@acme.example` is a part of `keyboard@acme.example`. */
export function exactOr(text: string, found: readonly IndexedRecipient[]): readonly IndexedRecipient[] {
  const key = addressKey(text);
  const exact = found.filter(({ recipient }) => recipient === key);
  return exact.length > 0 ? exact : found;
}

/** The name of the recipient in `RunFilter.recipients`. */
export const nameOf = ({ org, recipient }: DeliveryRow): string => `${org}/${recipientTerm(recipient)}`;

/** The matching deliveries of runs, in the order of the runs. */
export async function deliveriesOf(
  runs: readonly RunRecord[],
  { ledger, definitions }: Deployment,
  isMatch: (row: DeliveryRow) => boolean,
): Promise<readonly ReceivedDelivery[]> {
  const byVersion = new Map<string, ReturnType<typeof readableDefinition>>();
  const definitionOf = (run: RunRecord) => {
    const name = `${run.org}/${run.report} ${run.digest}`;
    const found = byVersion.get(name) ?? readableDefinition(run, definitions);
    byVersion.set(name, found);
    return found;
  };
  const each = await Promise.all(
    runs.map(async (run) => {
      const rows = (await ledger.list(run.id)).filter(isMatch);
      const definition = rows.length === 0 ? undefined : await definitionOf(run);
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

/** Undefined as well where this version of Docket cannot read the definition: the listing then shows less. */
const readableDefinition = (run: RunRecord, definitions: DefinitionStore) =>
  findFrozenDefinition(run, definitions).then(
    (frozen) => frozen?.definition,
    (thrown: unknown) => {
      if (toDocketError(thrown).code === 'definition.invalid') return undefined;
      throw thrown;
    },
  );

/**
 * The recipient as the index of recipients has it; `recipient-index.lua` has the same rule. Lower case, ASCII letters only.
 * Of the location of files what precedes the first part of its path that holds a digit, because a location usually names
 * the period and would otherwise be a new recipient each time: `s3://reports/acme/2026-W46/` is `s3://reports/acme`.
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
