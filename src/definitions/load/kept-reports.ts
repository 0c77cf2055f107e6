import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { batchesOf } from '../../base/concurrency.ts';
import type { Definition } from '../schema/report-definition.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import { deepFreeze } from './parse-definitions.ts';

/** What is asked for of all reports all the time: names, versions, schedules. A definition is one. */
export type ReportSummary = Pick<Definition, 'org' | 'report' | 'digest' | 'title' | 'schedule' | 'timezone'>;

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
/** Packs kept unpacked: lists are read in the order of names. */
const UNPACKED = 4;

/** A packer for one process. */
export function createReportPacker(): PackReports {
  const unpacked = new Map<Buffer, readonly ReportVersion[]>();
  const unpack = (bytes: Buffer): readonly ReportVersion[] => {
    // This process has written it.
    const versions: readonly ReportVersion[] =
      unpacked.get(bytes) ?? JSON.parse(inflateRawSync(bytes).toString('utf8'));
    unpacked.delete(bytes);
    unpacked.set(bytes, versions);
    const [oldest] = unpacked.size > UNPACKED ? unpacked.keys() : [];
    if (oldest !== undefined) unpacked.delete(oldest);
    return versions;
  };
  const schedules = interned<Definition['schedule']>();
  const orgTexts = interned<string>();

  const pack = (reports: readonly KeptReport[]): KeptReport[] => {
    // Copied: zlib returns a part of a larger buffer, all of which would stay.
    const bytes = Buffer.copyBytesFrom(
      deflateRawSync(JSON.stringify(reports.map((each) => each.read())), { level: 3 }),
    );
    return reports.map(({ summary: { org, report, digest, title, schedule, timezone }, ...rest }, index) => ({
      summary: {
        org,
        report,
        digest,
        title,
        schedule: schedules(schedule),
        ...(timezone === undefined ? {} : { timezone }),
      },
      textDigest: rest.textDigest === digest ? digest : rest.textDigest,
      orgText: orgTexts(rest.orgText),
      source: { file: rest.source.file, text: '', lines: NO_LINES },
      pack: bytes,
      read: () => {
        const version = unpack(bytes)[index];
        if (version === undefined) throw new Error(`${org}/${report} is not in its pack.`);
        return deepFreeze(version);
      },
    }));
  };
  return (reports) => {
    const loose = reports.filter((each) => each.pack === undefined);
    if (loose.length === 0) return reports;
    // A pack is in memory as long as one of its reports: those that lost many are packed anew.
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
const NO_LINES = new Uint32Array();

/** The text and definition of a report that was just parsed. */
export function looseReport(
  version: ReportVersion,
  of: Pick<KeptReport, 'textDigest' | 'orgText' | 'source'>,
): KeptReport {
  return { summary: version.definition, ...of, read: () => version };
}
