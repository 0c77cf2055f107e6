import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { batchesOf } from '../../base/concurrency.ts';
import type { DeliverySpec } from '../schema/kinds.ts';
import type { Definition } from '../schema/report-definition.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import { deepFreeze } from './parse-definitions.ts';

/** What is read of all reports all the time: names, versions, schedules. A definition is one. */
export type ReportSummary = Pick<Definition, 'org' | 'report' | 'digest' | 'title' | 'schedule' | 'timezone'> & {
  /** Of a packed report, the kinds of targets only: the field named after it is `true`. */
  readonly deliveries: readonly DeliverySpec[];
};

export interface ReportVersion {
  readonly text: string;
  readonly definition: Definition;
}

/** A valid version of a report. `read` returns its text and definition, which are unpacked for each call. */
export interface KeptReport {
  readonly summary: ReportSummary;
  /** SHA-256 (hex) of names and texts, without other files: equal for what would be parsed to the same definition. */
  readonly textDigest: string;
  readonly orgText: string;
  /** Of a packed one, without text and positions. */
  readonly source: SourceFile;
  /** What it is packed with; absent when it is not packed. */
  readonly pack?: object;
  read(): ReportVersion;
}

/** Makes room: processes that run for months keep summaries, and everything else of a report packed. */
export type PackReports = (reports: readonly KeptReport[]) => readonly KeptReport[];

/** Reports packed together: their texts are similar, and one is unpacked in less than a millisecond. */
const PACKED_TOGETHER = 50;
/**
 * Characters of JSON kept unpacked; the last pack always is. Lists read reports in the order of names, triggers in any order.
 * Four full packs of usual reports have as many, or those of a hundred organizations with one report each.
 */
const MAX_UNPACKED_CHARACTERS = 1_500_000;

/** Returns the values that were packed; those of the last packs stay unpacked. */
export type Unpack = <Value>(bytes: Buffer) => readonly Value[];

export function createUnpacker(): Unpack {
  const unpacked = new Map<Buffer, { readonly values: readonly unknown[]; readonly size: number }>();
  let total = 0;
  const unpack = (bytes: Buffer) => {
    const text = inflateRawSync(bytes).toString('utf8');
    total += text.length;
    return { values: JSON.parse(text), size: text.length };
  };
  return <Value>(bytes: Buffer) => {
    const found = unpacked.get(bytes) ?? unpack(bytes);
    unpacked.delete(bytes);
    for (const [oldest, { size }] of unpacked) {
      if (total <= MAX_UNPACKED_CHARACTERS) break;
      unpacked.delete(oldest);
      total -= size;
    }
    unpacked.set(bytes, found);
    // Docket has written it, of these values.
    return found.values as readonly Value[];
  };
}

/** A packer for one process. */
export function createReportPacker(unpack: Unpack = createUnpacker()): PackReports {
  const schedules = interned<Definition['schedule']>();
  const deliveryKinds = interned<readonly DeliverySpec[]>();
  const orgTexts = interned<string>();
  const summarize = ({ org, report, digest, title, schedule, timezone, deliveries }: ReportSummary): ReportSummary => ({
    org,
    report,
    digest,
    title,
    schedule: schedules(schedule),
    deliveries: deliveryKinds(kindsOnly(deliveries)),
    ...(timezone === undefined ? {} : { timezone }),
  });

  const pack = (reports: readonly KeptReport[]): KeptReport[] => {
    // Copied: zlib returns a part of a larger buffer, all of which would stay.
    const bytes = Buffer.copyBytesFrom(
      deflateRawSync(JSON.stringify(reports.map((each) => each.read())), { level: 3 }),
    );
    return reports.map(({ summary, textDigest, orgText, source: { file } }, index) =>
      keepPacked({
        summary: summarize(summary),
        textDigest,
        orgText: orgTexts(orgText),
        file,
        pack: bytes,
        read: () => unpack<ReportVersion>(bytes)[index],
      }),
    );
  };
  return (reports) => {
    const loose = reports.filter((each) => each.pack === undefined);
    if (loose.length === 0) return reports;
    // A pack is in memory as long as one of its reports: those that lost many are packed again.
    const packs = new Set(reports.flatMap((each) => each.pack ?? []));
    const isScattered = packs.size > 2 + (2 * reports.length) / PACKED_TOGETHER;
    const again = isScattered ? reports : loose;
    const packed = [...batchesOf(again, PACKED_TOGETHER)].flatMap(pack);
    return isScattered ? packed : [...reports.filter((each) => each.pack !== undefined), ...packed];
  };
}

/** Returns the same object for equal values, as long as somebody has it. */
function interned<Value>(): (value: Value) => Value {
  const known = new Map<string, Value>();
  return (value) => {
    const key = JSON.stringify(value);
    const first = known.get(key);
    if (first !== undefined) return first;
    const [oldest] = known.size >= MAX_INTERNED ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
    known.set(key, value);
    return value;
  };
}
const MAX_INTERNED = 1_000;

/** The kinds of deliveries, as packed summaries have them. */
export const kindsOnly = (deliveries: readonly DeliverySpec[]): DeliverySpec[] =>
  deliveries.map(({ send_if: _, unprotected: __, ...kinds }) =>
    Object.fromEntries(Object.entries(kinds).flatMap(([kind, spec]) => (spec === undefined ? [] : [[kind, true]]))),
  );

/** A report whose text and definition are in a pack. */
export function keepPacked({
  summary,
  textDigest,
  orgText,
  file,
  pack,
  read,
}: Pick<KeptReport, 'summary' | 'textDigest' | 'orgText'> & {
  readonly file: string;
  readonly pack: object;
  readonly read: () => { [Part in keyof ReportVersion]: ReportVersion[Part] | undefined } | undefined;
}): KeptReport {
  const { org, report, digest } = summary;
  return {
    summary,
    // One text of both, where they are equal.
    textDigest: textDigest === digest ? digest : textDigest,
    orgText,
    source: { file, text: '', lines: NO_LINES },
    pack,
    read: () => {
      const { text, definition } = read() ?? { text: undefined, definition: undefined };
      if (text === undefined || definition?.digest !== digest) throw new Error(`${org}/${report} is not in its pack.`);
      return deepFreeze({ text, definition });
    },
  };
}
const NO_LINES = new Uint32Array();

/** The text and definition of a report that was just parsed. */
export function looseReport(
  version: ReportVersion,
  of: Pick<KeptReport, 'textDigest' | 'orgText' | 'source'>,
): KeptReport {
  return { summary: version.definition, ...of, read: () => version };
}
