import { DocketError } from '../base/error.ts';
import { dateFormat } from '../base/formats.ts';
import type { Definition } from '../define/definition.ts';
import { inWords, type Period } from '../define/period.ts';
import { addressKey } from '../define/recipients.ts';
import type { DeliveryState, Ledger } from '../deliver/ledger.ts';
import type { RunPosition, RunRecord, RunStore } from '../run/record.ts';

/** A report and the days of which it is asked. */
export interface ReportPeriod {
  readonly org: string;
  readonly report: string;
  readonly period: Period;
  /** A run that does not count: the one that asks. */
  readonly id?: string;
}

/** A run that has delivered a report for a period. */
export interface EarlierDelivery {
  readonly run: string;
  readonly period: Period;
  /** Epoch ms of its last delivery. */
  readonly at: number;
  /** Targets that surely received it, by kind; e-mail counts mailboxes. */
  readonly sent: Readonly<Partial<Record<CountedKind, number>>>;
  /** Deliveries of which it is not known whether they arrived, or to what kind of target. */
  readonly uncertain: number;
}

/**
 * Finds the newest run that has delivered the report for these days, or may have; undefined when none has. Throws
 * `redis.unreachable`, `archive.unreachable` when that cannot be found out.
 */
export type FindDelivered = (asked: ReportPeriod) => Promise<EarlierDelivery | undefined>;

/** A delivery as the ledger, a record or the archive has it. */
export interface DeliveryFact {
  /** Position and kind in the definition, e.g. `0-email`; null where it is not known. */
  readonly target: string | null;
  readonly recipient: string;
  readonly state: string;
  /** Epoch ms. */
  readonly at: number;
}

/** Kinds of targets that count. A folder of this machine does not, and neither does a notice to the owner. */
const COUNTED = ['email', 's3', 'sftp', 'webhook'] as const;
type CountedKind = (typeof COUNTED)[number];

const SURE: ReadonlySet<string> = new Set<DeliveryState>(['sent']);
const UNSURE: ReadonlySet<string> = new Set<DeliveryState>(['sending', 'unknown']);

/** What a run has delivered, of all its deliveries; undefined when nothing that counts has left. */
export function countDelivered(
  run: string,
  period: Period,
  facts: readonly DeliveryFact[],
): EarlierDelivery | undefined {
  const counted = facts.flatMap((fact) => {
    const kind = COUNTED.find((each) => fact.target?.endsWith(each));
    return kind === undefined && fact.target !== null ? [] : [{ ...fact, kind }];
  });
  const sent = counted.filter(({ state }) => SURE.has(state));
  const unsure = counted.filter(({ state }) => UNSURE.has(state));
  const last = [...sent, ...unsure].reduce((latest, { at }) => Math.max(latest, at), 0);
  if (sent.length + unsure.length === 0) return undefined;
  const ofKind = (kind: CountedKind): number =>
    new Set(sent.flatMap((fact) => (fact.kind === kind ? [addressKey(fact.recipient) ?? fact.recipient] : []))).size;
  const counts = COUNTED.flatMap((kind) => (ofKind(kind) === 0 ? [] : [[kind, ofKind(kind)] as const]));
  const unnamed = sent.filter(({ kind }) => kind === undefined).length;
  return { run, period, at: last, sent: Object.fromEntries(counts), uncertain: unsure.length + unnamed };
}

/** Records that are read at once. */
const PAGE = 200;
/** A period begins up to a day earlier in another zone, and clocks of two processes may differ. */
const MARGIN_MS = 2 * 86_400_000;

/** Looks through the records of the report's runs, newest first, as far back as the period's first day. */
export function deliveredByRecords({
  runs,
  ledger,
}: {
  readonly runs: Pick<RunStore, 'list'>;
  readonly ledger: Pick<Ledger, 'list'>;
}): FindDelivered {
  return async ({ id, org, report, period }) => {
    const since = Date.parse(period.from) - MARGIN_MS;
    for (let after: RunPosition | undefined; ; ) {
      const page = await runs.list({ org, report, since, limit: PAGE, ...(after === undefined ? {} : { after }) });
      for (const record of page) {
        const counts = record.id !== id && record.deliver && record.state !== 'skipped';
        if (!counts || !isSamePeriod(record.period, period)) continue;
        const found = countDelivered(record.id, record.period, await factsOf(record, ledger));
        if (found !== undefined) return found;
      }
      after = page.at(-1);
      if (after === undefined || page.length < PAGE) return undefined;
    }
  };
}

/** The ledger's rows; a ledger that has lost them is spoken for by the record. */
async function factsOf(record: RunRecord, ledger: Pick<Ledger, 'list'>): Promise<readonly DeliveryFact[]> {
  const rows = await ledger.list(record.id);
  if (rows.length > 0) return rows;
  const at = record.finishedAt ?? record.createdAt;
  return record.deliveries.map(({ target, recipient, state }) => ({ target, recipient, state, at }));
}

/** The same civil days in the same zone, whatever they are called. */
const isSamePeriod = (one: Period, other: Period): boolean =>
  one.from === other.from && one.to === other.to && one.timezone === other.timezone;

/** Asks one after the other until one knows of a delivery: the quickest first. */
export const firstToKnow =
  (finders: readonly FindDelivered[]): FindDelivered =>
  async (asked) => {
    for (const find of finders) {
      const found = await find(asked);
      if (found !== undefined) return found;
    }
    return undefined;
  };

/**
 * Refuses to deliver a report once more for a period that it was delivered for: the rule that the command line, the page and the
 * API share. Nobody is refused who insists (`again`), delivers nothing, or delivers to folders of this machine alone.
 * Throws `already_delivered`, and what `find` throws.
 * @param find undefined: nobody is refused
 * @param now epoch ms
 */
export async function refuseRepeat(
  asked: ReportPeriod & { readonly deliver: boolean },
  { deliveries }: Pick<Definition, 'deliveries'>,
  { again, find, now }: { readonly again: boolean; readonly find: FindDelivered | undefined; readonly now: number },
): Promise<void> {
  const counts = deliveries.some((delivery) => COUNTED.some((kind) => delivery[kind] !== undefined));
  if (!asked.deliver || !counts || again || find === undefined) return;
  const earlier = await find(asked);
  if (earlier !== undefined) throw alreadyDelivered(asked, earlier, now);
}

/**
 * The refusal of a report that was delivered for this period already.
 * @param now epoch ms
 */
function alreadyDelivered({ org, report }: ReportPeriod, earlier: EarlierDelivery, now: number): DocketError {
  const { run, period, at, sent, uncertain } = earlier;
  const { email = 0, s3 = 0, sftp = 0, webhook = 0 } = sent;
  return new DocketError('already_delivered', sentenceOf(earlier, now), {
    where: `${org}/${report}`,
    next: 'Nothing was opened. To send it again all the same: --again on the command line, `again: true` in the API, the box in the form of the page.',
    delivered: {
      run,
      period: { ...period },
      at: new Date(at).toISOString(),
      people: email,
      targets: s3 + sftp + webhook,
      uncertain,
    },
  });
}

/** `October 2026 went to 2 people on 3 Nov, 10:56 (run 83b1c195).` */
function sentenceOf({ run, period, at, sent, uncertain }: EarlierDelivery, now: number): string {
  const days = inWords(period).replace(/ \([^()]*\)$/, '');
  const known = inList(
    COUNTED.flatMap((kind) => {
      const count = sent[kind];
      return count === undefined ? [] : [counted(count, NAMES[kind])];
    }),
  );
  const uncertainly = counted(uncertain, known === '' ? ['recipient', 'recipients'] : ['more', 'more']);
  const went =
    known === ''
      ? `may have gone to ${uncertainly}`
      : `went to ${known}${uncertain === 0 ? '' : `, and perhaps to ${uncertainly},`}`;
  return `${days} ${went} on ${instantOf(at, period.timezone, now)} (run ${run.slice(0, 8)}).`;
}

const NAMES: Readonly<Record<CountedKind, readonly [one: string, many: string]>> = {
  email: ['person', 'people'],
  s3: ['S3 bucket', 'S3 buckets'],
  sftp: ['SFTP server', 'SFTP servers'],
  webhook: ['webhook', 'webhooks'],
};

const counted = (count: number, [one, many]: readonly [string, string]): string =>
  `${count} ${count === 1 ? one : many}`;

const inList = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;

/** `3 Nov, 10:56` of the period's zone, with the year where it is not this one. */
function instantOf(at: number, timeZone: string, now: number): string {
  const yearOf = (instant: number): string => dateFormat('en-GB', { timeZone, year: 'numeric' }).format(instant);
  const year = yearOf(at) === yearOf(now) ? {} : ({ year: 'numeric' } as const);
  const day = dateFormat('en-GB', { timeZone, day: 'numeric', month: 'short', ...year }).format(at);
  const time = dateFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(at);
  return `${day}, ${time}`;
}
