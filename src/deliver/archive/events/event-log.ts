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

/** The bytes of an event that counts, with its number. */
export interface StoredEvent {
  readonly seq: number;
  readonly bytes: Buffer;
}

/** An event that readers of the log skip. */
export interface EventMark {
  readonly textOf: (seq: number) => string;
  readonly isMark: (event: StoredEvent) => boolean;
}

/**
 * A log of numbered events, `events/000001.json` in a folder. Each is written once, under the next number or not at
 * all. With a signing key, and after the organization's cut-over to signed events, only events that the chain records
 * count.
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
  /** The recorded events; undefined before the cut-over and without a key. */
  const recorded = async (org: string, folder: string): Promise<readonly StoredEvent[] | undefined> => {
    const events = await signing?.recorded(org, folder);
    return events && mapWithConcurrency(events, CONCURRENCY, (event) => read(folder, event.seq, event.sha256));
  };
  /** Writes and records an event. @returns its number; undefined when another event came first */
  const putSigned = async (
    org: string,
    folder: string,
    after: number,
    textOf: (seq: number) => string,
    sign: EventSigning,
  ): Promise<number | undefined> => {
    // Skips events that do not count: their process died before it recorded them, or somebody else wrote them.
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
     * Throws `archive.unconditional` if the store could lose one of two events appended at once, and
     * `archive.key_unknown` if the organization's events are signed and this process has no key.
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
    /** The events that count, in order. Before the cut-over, every file is such an event. Throws `archive.corrupt`. */
    events: async (org: string, folder: string): Promise<readonly StoredEvent[]> => {
      const known = await recorded(org, folder);
      if (known !== undefined) return known;
      const found = await numbers(folder);
      // A review must not continue without a missing event: nobody knows what that event decided.
      const expected = what === 'A review' ? sequenceRange(1, Math.max(0, ...found)) : found;
      return mapWithConcurrency(expected, CONCURRENCY, (seq) => read(folder, seq));
    },
    /**
     * Appends an event after those that the caller knows.
     *
     * @param after number of the last event that the caller knows, apart from `mark`; 0: none
     * @param textOf makes the event's text for a number
     * @param mark an event to put before the first signed one
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
        // The cut-over happened in between, and missed this event.
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
    /** Appends only the mark, unless it is already there. Does nothing before the cut-over. */
    putMark: async (org: string, folder: string, mark: EventMark): Promise<void> => {
      const known = await recorded(org, folder);
      if (signing === undefined || known === undefined || known.some(mark.isMark)) return;
      await putSigned(org, folder, known.at(-1)?.seq ?? 0, mark.textOf, signing);
    },
  };
}
