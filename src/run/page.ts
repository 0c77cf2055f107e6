import { DocketError } from '../base/error.ts';
import type { RunFilter, RunPosition, RunRecord, RunStore } from './record.ts';

/** Some runs, and where the next ones begin; null when these are the last. */
export interface RunPage {
  readonly runs: readonly RunRecord[];
  readonly next: string | null;
}

/** A page of a listing. `next` given back as `after` (`readCursor`) continues it, whatever was added or changed since. */
export async function pageOf(store: Pick<RunStore, 'list'>, filter: RunFilter): Promise<RunPage> {
  // One more than asked for tells whether there is another page, without a count.
  const found = await store.list({ ...filter, limit: filter.limit + 1 });
  const runs = found.slice(0, filter.limit);
  const last = runs.at(-1);
  return { runs, next: last === undefined || found.length === runs.length ? null : cursorOf(last) };
}

const cursorOf = ({ createdAt, id }: RunPosition): string => `${createdAt}-${id}`;

/** @throws `usage.invalid` for a text that is no cursor */
export function readCursor(text: string): RunPosition {
  const match = /^(\d{1,16})-([0-9a-f]{32})$/.exec(text);
  if (match !== null) return { createdAt: Number(match[1]), id: match[2] ?? '' };
  throw new DocketError('usage.invalid', 'The cursor is not one of ours.', {
    expected: 'the `next` of the page before',
    got: JSON.stringify(text.slice(0, 80)),
    next: 'List again from the beginning.',
  });
}
