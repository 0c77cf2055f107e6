import { DocketError } from '../base/error.ts';
import type { RunCursor, RunFilter, RunRecord, RunStore } from './run-record.ts';

/** A page of runs, and the cursor of the next one; null for the last. */
export interface RunPage {
  readonly runs: readonly RunRecord[];
  readonly next: string | null;
}

/** Lists a page of runs. `next`, parsed by `parseRunCursor`, is the `after` of the following page. */
export async function listRunPage(store: RunStore, filter: RunFilter): Promise<RunPage> {
  // One more than requested shows whether there is another page.
  const found = await store.list({ ...filter, limit: filter.limit + 1 });
  const runs = found.slice(0, filter.limit);
  const last = runs.at(-1);
  return { runs, next: last === undefined || found.length === runs.length ? null : formatRunCursor(last) };
}

const formatRunCursor = ({ createdAt, id }: RunCursor): string => `${createdAt}-${id}`;

/** Throws `usage.invalid`. */
export function parseRunCursor(text: string): RunCursor {
  const match = /^(\d{1,16})-([0-9a-f]{32})$/.exec(text);
  if (match !== null) return { createdAt: Number(match[1]), id: match[2] ?? '' };
  throw new DocketError('usage.invalid', 'Invalid cursor.', {
    expected: 'the `next` of the previous page',
    got: JSON.stringify(text.slice(0, 80)),
    next: 'List from the beginning.',
  });
}
