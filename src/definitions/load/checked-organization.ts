import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { batchesOf } from '../../base/concurrency.ts';
import type { Definition } from '../schema/report-definition.ts';
import { type KeptReport, keepPacked, kindsOnly, type ReportSummary, type Unpack } from './kept-reports.ts';
import { hasSameFiles } from './named-files.ts';
import type { DefinitionParser, ParsedSettings, ParsedTargets } from './parse-definitions.ts';

/**
 * Where the checked organizations of processes of the same build are kept. Never rejects: without an entry all texts are
 * parsed. Entries hold no texts, in whose comments a secret may be.
 */
export interface CheckedOrganizations {
  read(org: string): Promise<Buffer | undefined>;
  write(org: string, entry: Buffer): void;
  readonly unpack: Unpack;
}

/** A text without fault, and what it was parsed to. */
interface CheckedText {
  readonly digest: string;
  readonly value: unknown;
}

/** Equal ones are stored once; an index of `shared` each. */
type StoredReport = Pick<KeptReport, 'textDigest'> &
  Pick<ReportSummary, 'report' | 'digest' | 'title' | 'timezone'> & {
    readonly schedule: number;
    readonly deliveries: number;
  };

interface Head {
  readonly settings?: CheckedText;
  readonly targets?: CheckedText;
  readonly shared: readonly unknown[];
  readonly reports: readonly StoredReport[];
  /** Bytes of each pack of definitions, behind the head. */
  readonly packs: readonly number[];
}

const PACKED_TOGETHER = 50;
/** What is more is parsed at each start. */
const MAX_ENTRY_BYTES = 16 * 1024 * 1024;
const NO_LINES = new Uint32Array();
const EMPTY: Head = { shared: [], reports: [], packs: [] };

const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest();

/** A report whose text was read just now. */
interface ReadReport {
  readonly name: { readonly report: string };
  readonly text: string;
  readonly file: string;
  readonly textDigest: string;
}

/**
 * What processes of the same build found without fault in the files of an organization: it is not parsed again. Everything
 * that a result depends on is part of what it is found by: the build, the texts of the report, of the settings and of the
 * targets, and the logo. Files that a report names are compared by the caller. Texts with faults are always parsed.
 */
export class CheckedOrganization {
  readonly #org: string;
  readonly #store: CheckedOrganizations;
  readonly #head: Head;
  readonly #packs: readonly Buffer[];
  readonly #known = new Map<string, number>();
  #texts: Pick<Head, 'settings' | 'targets'> = {};

  private constructor(org: string, store: CheckedOrganizations, entry: Buffer | undefined) {
    this.#org = org;
    this.#store = store;
    const { head, packs } = (entry === undefined ? undefined : decode(entry)) ?? { head: EMPTY, packs: [] };
    this.#head = head;
    this.#packs = packs;
    for (const [index, { report }] of head.reports.entries()) this.#known.set(report, index);
  }

  static async read(org: string, store: CheckedOrganizations): Promise<CheckedOrganization> {
    return new CheckedOrganization(org, store, await store.read(org));
  }

  /** Parses settings and targets, unless their text is known. */
  parser(parser: DefinitionParser): DefinitionParser {
    return {
      ...parser,
      // The fault of a logo is shown at its place in the text, which is not kept.
      settings: (text, file) =>
        this.#parse<ParsedSettings>(
          'settings',
          { text, file },
          () => parser.settings(text, file),
          ({ value }) => value?.logo === undefined,
        ),
      targets: (text, file) =>
        this.#parse<ParsedTargets>(
          'targets',
          { text, file },
          () => parser.targets(text, file),
          ({ isReport }) => !isReport,
        ),
    };
  }

  async #parse<Parsed extends ParsedSettings | ParsedTargets>(
    kind: 'settings' | 'targets',
    { text, file }: { readonly text: string; readonly file: string },
    parse: () => Parsed | Promise<Parsed>,
    isPlain: (parsed: Parsed) => boolean,
  ): Promise<Parsed> {
    const digest = sha256(text).toString('hex');
    const known = this.#head[kind];
    if (known?.digest === digest) {
      this.#texts = { ...this.#texts, [kind]: known };
      const { value } = known;
      // It was written by this build, of a value of this type.
      return { source: { file, text, lines: NO_LINES }, value, isReport: false, diagnostics: [] } as unknown as Parsed;
    }
    const parsed = await parse();
    const { value, diagnostics } = parsed;
    if (value !== undefined && diagnostics.length === 0 && isPlain(parsed) && isPlainJson(value))
      this.#texts = { ...this.#texts, [kind]: { digest, value } };
    return parsed;
  }

  /** Those of the reports that are known, packed. */
  async reports(read: readonly ReadReport[], orgText: string): Promise<KeptReport[]> {
    const known = read.flatMap((each) => {
      const index = this.#known.get(each.name.report) ?? -1;
      const stored = this.#head.reports[index];
      const pack = this.#packs[Math.floor(index / PACKED_TOGETHER)];
      return stored?.textDigest === each.textDigest && pack !== undefined ? [{ ...each, index, stored, pack }] : [];
    });
    const { unpack } = this.#store;
    const kept: KeptReport[] = [];
    for (const batch of batchesOf(known, PACKED_TOGETHER)) {
      const texts = deflateRawSync(JSON.stringify(batch.map(({ text }) => text)), { level: 1 });
      for (const [at, { index, stored, pack, file, textDigest }] of batch.entries()) {
        const report = keepPacked({
          summary: this.#summary(stored),
          textDigest,
          orgText,
          file,
          pack: texts,
          read: () => ({
            text: unpack<string>(texts)[at],
            definition: unpack<Definition>(pack)[index % PACKED_TOGETHER],
          }),
        });
        if (await hasSameFiles(report, dirname(file))) kept.push(report);
      }
    }
    return kept;
  }

  #summary({ report, digest, title, timezone, schedule, deliveries }: StoredReport): ReportSummary {
    return {
      org: this.#org,
      report,
      digest,
      title,
      schedule: this.#head.shared[schedule] as ReportSummary['schedule'],
      deliveries: this.#head.shared[deliveries] as ReportSummary['deliveries'],
      ...(timezone === undefined ? {} : { timezone }),
    };
  }

  /** Stores what was found without fault now, if it is anything else than before. */
  save(reports: readonly KeptReport[]): void {
    const { settings, targets } = this.#texts;
    const before = this.#head;
    const isSame =
      before.settings?.digest === settings?.digest &&
      before.targets?.digest === targets?.digest &&
      before.reports.length === reports.length &&
      reports.every(({ summary, textDigest }) => {
        const stored = before.reports[this.#known.get(summary.report) ?? -1];
        return stored?.textDigest === textDigest && stored.digest === summary.digest;
      });
    if (isSame) return;
    const entry = encode(reports, this.#texts);
    if (entry.length <= MAX_ENTRY_BYTES) this.#store.write(this.#org, entry);
  }
}

/** A digest, the size of the packed head, the head, and the packs. */
function encode(reports: readonly KeptReport[], texts: Pick<Head, 'settings' | 'targets'>): Buffer {
  const shared = new Map<string, number>();
  const indexOf = (value: unknown) => {
    const key = JSON.stringify(value);
    const index = shared.get(key) ?? shared.size;
    shared.set(key, index);
    return index;
  };
  const stored = reports.map(({ summary, textDigest }): StoredReport => {
    const { report, digest, title, timezone, schedule, deliveries } = summary;
    return {
      report,
      textDigest,
      digest,
      title,
      timezone,
      schedule: indexOf(schedule),
      deliveries: indexOf(kindsOnly(deliveries)),
    };
  });
  const packs = [...batchesOf(reports, PACKED_TOGETHER)].map((batch) =>
    deflateRawSync(JSON.stringify(batch.map((each) => each.read().definition)), { level: 3 }),
  );
  const values: unknown[] = [...shared.keys()].map((key) => JSON.parse(key));
  const head: Head = { ...texts, shared: values, reports: stored, packs: packs.map(({ length }) => length) };
  const packed = deflateRawSync(JSON.stringify(head), { level: 3 });
  const size = Buffer.alloc(4);
  size.writeUInt32BE(packed.length);
  const body = Buffer.concat([size, packed, ...packs]);
  return Buffer.concat([sha256(body), body]);
}

/** Undefined: it is torn. */
function decode(entry: Buffer): { readonly head: Head; readonly packs: readonly Buffer[] } | undefined {
  const [digest, body] = [entry.subarray(0, 32), entry.subarray(32)];
  if (body.length < 4 || !sha256(body).equals(digest)) return undefined;
  let offset = 4 + body.readUInt32BE(0);
  // Whole, and written by this build.
  const head: Head = JSON.parse(inflateRawSync(body.subarray(4, offset)).toString('utf8'));
  const packs = head.packs.map((length) => {
    offset += length;
    // Copied: it must not keep all of the entry in memory.
    return Buffer.copyBytesFrom(body, offset - length, length);
  });
  return { head, packs };
}

const isPlainJson = (value: unknown): boolean => isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value);
