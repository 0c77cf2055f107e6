import { DocketError } from '../base/error.ts';
import type { RunCursor, RunFilter, RunRecord, RunStore } from './run-record.ts';

/** A page of runs, with the cursor of the next page; null on the last page. */
export interface RunPage {
  readonly runs: readonly RunRecord[];
  readonly next: string | null;
}

/** Lists a page of runs. `next`, parsed by `parseRunCursor`, is the `after` for the next page. */
export async function listRunPage(store: RunStore, filter: RunFilter): Promise<RunPage> {
  // Requests one run more than needed, to see whether there is another page.
  const found = await store.list({ ...filter, limit: filter.limit + 1 });
  const runs = found.slice(0, filter.limit);
  const last = runs.at(-1);
  return { runs, next: last === undefined || found.length === runs.length ? null : formatRunCursor(last) };
}

const formatRunCursor = ({ createdAt, id }: RunCursor): string => `${createdAt}-${id}`;

/** Parses a run cursor. Throws `usage.invalid`. */
export function parseRunCursor(text: string): RunCursor {
  const match = /^(\d{1,16})-([0-9a-f]{32})$/.exec(text);
  if (match !== null) return { createdAt: Number(match[1]), id: match[2] ?? '' };
  throw new DocketError('usage.invalid', 'Invalid cursor.', {
    expected: 'the `next` of the previous page',
    got: JSON.stringify(text.slice(0, 80)),
    next: 'List from the beginning.',
  });
}
