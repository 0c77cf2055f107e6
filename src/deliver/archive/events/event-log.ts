import { mapWithConcurrency } from '../../../base/concurrency.ts';
import { DocketError } from '../../../base/error.ts';
import { sha256 } from '../../../base/sha256.ts';
import { archiveCorrupt } from '../archive-errors.ts';
import { sequenceRange } from '../chain/chain.ts';
import type { ArchiveStorage } from '../storage/archive-storage.ts';
import { requireConditionalWrites } from '../storage/conditional-writes.ts';
import { eventPath } from './event-record.ts';
import { cutOverHint, type EventSigning } from './event-signing.ts';

const EVENT_FILE = /^(\d{6})\.json$/;
const CONCURRENCY = 8;

/** The bytes of an event that counts. */
export interface StoredEvent {
  readonly seq: number;
  readonly bytes: Buffer;
}

/** An event that is none for the reader of the log. */
export interface EventMark {
  readonly textOf: (seq: number) => string;
  readonly isMark: (event: StoredEvent) => boolean;
}

/**
 * Numbered events, `events/000001.json` in a folder: each is written once, under the next number or not at all. With a
 * signing key, and after the cut-over of the organization, only those count that the chain records.
 */
export function eventLog(
  storage: ArchiveStorage,
  what: 'A review' | 'A correction',
  signing: EventSigning | undefined,
) {
  const { metadata, location } = storage;
  const numbers = async (folder: string): Promise<readonly number[]> =>
    (await metadata.list(`${folder}/events`)).flatMap((name) => {
      const digits = EVENT_FILE.exec(name)?.[1];
      return digits === undefined ? [] : [Number(digits)];
    });
  const read = async (folder: string, seq: number, expected?: string): Promise<StoredEvent> => {
    const name = eventPath(folder, seq);
    const bytes = await metadata.get(name);
    if (bytes === undefined)
      throw archiveCorrupt(location, `${name} is missing${expected ? ', although the chain records it' : ''}`);
    const got = sha256(bytes);
    if (expected === undefined || expected === got) return { seq, bytes };
    throw archiveCorrupt(location, `${name} has changed`, { expected: `SHA-256 ${expected}, as in the chain`, got });
  };
  /** Undefined before the cut-over, and without a key. */
  const recorded = async (org: string, folder: string): Promise<readonly StoredEvent[] | undefined> => {
    const events = await signing?.recorded(org, folder);
    return events && mapWithConcurrency(events, CONCURRENCY, (event) => read(folder, event.seq, event.sha256));
  };
  /** Writes and records an event. @returns its number; undefined where another event came first */
  const putSigned = async (
    org: string,
    folder: string,
    after: number,
    textOf: (seq: number) => string,
    sign: EventSigning,
  ): Promise<number | undefined> => {
    // Past events that do not count: a process died before it recorded them, or somebody else wrote them.
    const seq = Math.max(after, ...(await numbers(folder))) + 1;
    const text = textOf(seq);
    if (!(await metadata.putIfAbsent(eventPath(folder, seq), text))) return undefined;
    return (await recordWritten(org, folder, seq, text, after, sign)) ? seq : undefined;
  };
  const recordWritten = async (
    org: string,
    folder: string,
    seq: number,
    text: string,
    after: number,
    sign: EventSigning,
  ): Promise<boolean> => {
    await sign.record(org, { name: eventPath(folder, seq), sha256: sha256(text) }, after);
    return ((await sign.recorded(org, folder)) ?? []).some((event) => event.seq === seq);
  };

  return {
    /**
     * Throws `archive.unconditional` where the store would lose one of two events that are appended at once, and
     * `archive.key_unknown` where the events of the organization are signed and this process has no key.
     */
    assertUsable: async (org: string): Promise<void> => {
      await requireConditionalWrites(storage, what);
      if (signing !== undefined || (await metadata.get(cutOverHint(org))) === undefined) return;
      throw new DocketError('archive.key_unknown', `${what} of ${org} is signed, and this process has no key.`, {
        where: location,
        expected: 'DOCKET_SIGNING_KEY, as the workers have it',
        next: 'Set DOCKET_SIGNING_KEY for this process: `docket doctor` checks it.',
      });
    },
    /** The events that count, in order; before the cut-over those of all files. Throws `archive.corrupt`. */
    events: async (org: string, folder: string): Promise<readonly StoredEvent[]> => {
      const known = await recorded(org, folder);
      if (known !== undefined) return known;
      const found = await numbers(folder);
      // What a missing event of a review decided is not known.
      const expected = what === 'A review' ? sequenceRange(1, Math.max(0, ...found)) : found;
      return mapWithConcurrency(expected, CONCURRENCY, (seq) => read(folder, seq));
    },
    /**
     * Appends an event to those that the caller knows.
     *
     * @param after number of the last one that it knows, except that of `mark`; 0: none
     * @param textOf the event with its number
     * @param mark an event that precedes the first signed one
     * @returns false when another event came first
     */
    append: async (
      org: string,
      folder: string,
      after: number,
      textOf: (seq: number) => string,
      mark?: EventMark,
    ): Promise<boolean> => {
      const known = await recorded(org, folder);
      if (signing === undefined || known === undefined) {
        const [seq, text] = [after + 1, textOf(after + 1)];
        if (!(await metadata.putIfAbsent(eventPath(folder, seq), text))) return false;
        const since = await signing?.recorded(org, folder);
        // The cut-over came in between, and did not see it.
        if (signing === undefined || since === undefined || since.some((event) => event.seq === seq)) return true;
        return recordWritten(org, folder, seq, text, since.at(-1)?.seq ?? 0, signing);
      }
      const isMark = mark?.isMark ?? (() => false);
      if ((known.findLast((event) => !isMark(event))?.seq ?? 0) !== after) return false;
      let last = known.at(-1)?.seq ?? 0;
      if (mark !== undefined && !known.some(isMark)) {
        const marked = await putSigned(org, folder, last, mark.textOf, signing);
        if (marked === undefined) return false;
        last = marked;
      }
      return (await putSigned(org, folder, last, textOf, signing)) !== undefined;
    },
    /** Appends the mark alone, unless it is there; nothing before the cut-over. */
    putMark: async (org: string, folder: string, mark: EventMark): Promise<void> => {
      const known = await recorded(org, folder);
      if (signing === undefined || known === undefined || known.some(mark.isMark)) return;
      await putSigned(org, folder, known.at(-1)?.seq ?? 0, mark.textOf, signing);
    },
  };
}
