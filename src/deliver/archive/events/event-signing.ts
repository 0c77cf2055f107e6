import type { openChain } from '../chain/chain.ts';
import type { chainIndex } from '../chain/chain-index.ts';
import type { ChainFile } from '../chain/signed-document.ts';
import { requirePathName } from '../path-names.ts';
import type { ArchiveStorage } from '../storage/archive-storage.ts';
import {
  appendedEntry,
  createEventRecord,
  cutOverEntry,
  deletedEntry,
  type EventRecord,
  type RecordedEvent,
} from './event-record.ts';

/** Name of the file that shows processes without a key that the organization's events are signed. */
export const cutOverHint = (org: string): string => `.reviews/.signed/${requirePathName(org, 'organization')}.json`;

/** Records the events of reviews and corrections in the signed chain of their organization. */
export type EventSigning = ReturnType<typeof eventSigning>;

export function eventSigning(
  { metadata }: ArchiveStorage,
  chain: Pick<ReturnType<typeof openChain>, 'append' | 'entries'>,
  index: Pick<ReturnType<typeof chainIndex>, 'findEvents'>,
) {
  /** The verified cut-over entries by organization. They may be large. */
  const cutOvers = new Map<string, { readonly sequence: number; readonly files: readonly ChainFile[] }>();

  const firstCutOver = async (org: string, folder: string) => {
    const known = cutOvers.get(org);
    if (known !== undefined) return { known, appended: (await index.findEvents(org, folder, known.sequence)).appended };
    // Reads from the beginning: only the first cut-over entry counts.
    const { cutOvers: sequences, appended } = await index.findEvents(org, folder, 1);
    for await (const { sequence, files } of chain.entries(org, sequences)) {
      cutOvers.set(org, { sequence, files });
      return { known: { sequence, files }, appended };
    }
    return undefined;
  };
  const loadRecord = async (org: string, folder: string): Promise<EventRecord> => {
    const record = createEventRecord();
    const found = await firstCutOver(org, folder);
    if (found === undefined) return record;
    record.add(cutOverEntry(found.known.files.filter(({ name }) => name.startsWith(`${folder}/`))));
    const later = found.appended.filter((sequence) => sequence > found.known.sequence);
    for await (const entry of chain.entries(org, later)) record.add(entry);
    return record;
  };
  return {
    /** The events of a folder that count; undefined before the cut-over, when every event counts. */
    recorded: async (org: string, folder: string): Promise<readonly RecordedEvent[] | undefined> => {
      const record = await loadRecord(org, folder);
      return record.isCutOver ? record.of(folder) : undefined;
    },
    /** Records an event that was just written. @param after number of the event that it follows */
    record: async (org: string, file: ChainFile, after: number): Promise<void> => {
      await chain.append(org, appendedEntry(file, after));
    },
    /** Records that all events of a folder are deleted. Does nothing before the cut-over. */
    recordDeletion: async (org: string, folder: string): Promise<void> => {
      if ((await loadRecord(org, folder)).isCutOver) await chain.append(org, deletedEntry(folder));
    },
    isCutOver: async (org: string): Promise<boolean> => (await firstCutOver(org, '')) !== undefined,
    /** Records all existing events. From here on, an event without a chain entry does not count. */
    cutOver: async (org: string, files: readonly ChainFile[]): Promise<void> => {
      const sequence = await chain.append(org, cutOverEntry(files));
      await metadata.put(cutOverHint(org), `${JSON.stringify({ sequence })}\n`);
    },
  };
}
