import { DocketError } from '../base/error.ts';
import type { Sealed } from '../deliver/archive.ts';
import type { Receipt } from '../deliver/receipt.ts';
import type { Note } from '../fetch/dataset.ts';
import type { RunResult } from './result.ts';

/** What a run that came to its end has to show. */
export const resultOf = (state: RunResult['state'], sealed: Sealed, receipts: readonly Receipt[]): RunResult => ({
  state,
  folder: sealed.folder,
  files: sealed.artifacts,
  calls: sealed.manifest.calls,
  incomplete: sealed.manifest.incomplete,
  receipts,
});

/** Why figures that are not whole stop the run or its delivery; undefined when every figure is there. */
export function incompleteError(
  code: 'run.incomplete' | 'run.held',
  notes: readonly (Note & { readonly section: string })[],
): DocketError | undefined {
  if (notes.length === 0) return undefined;
  const policy = code === 'run.held' ? 'hold' : 'fail';
  return new DocketError(
    code,
    `The figures are not whole: ${notes.map(({ section, text }) => `${section}: ${text}`).join('; ')}`,
    {
      expected: `every figure of every section, as on_incomplete: ${policy} asks`,
      got: `${notes.length} ${notes.length === 1 ? 'remark' : 'remarks'} that something is missing`,
      next:
        code === 'run.held'
          ? 'Look at the files in the archive; nothing was sent. `docket runs release` sends them as they are, with their marks.'
          : 'Narrow the section (filters, dimensions, a shorter period), or set on_incomplete: flag to deliver with a mark.',
    },
  );
}

/**
 * What is not delivered, as one error; undefined when everything was sent that was to be sent.
 * @param run its id, where it is on record and can be tried again; undefined for an inline run
 */
export function undeliveredError(receipts: readonly Receipt[], run: string | undefined): DocketError | undefined {
  const missing = receipts.filter(({ state }) => state !== 'sent' && state !== 'skipped');
  if (missing.length === 0) return undefined;
  const states = new Set(missing.map(({ state }) => state));
  const code =
    states.has('unknown') || states.has('sending')
      ? 'deliver.unknown'
      : states.has('pending')
        ? 'deliver.target_failed'
        : 'deliver.target_refused';
  const each = missing.map(
    ({ recipient, target, state, detail }) =>
      `${recipient} (${target}): ${state}${detail === null ? '' : `, ${detail}`}`,
  );
  return new DocketError(code, `Not delivered to everybody: ${each.join('; ')}`, {
    expected: `${receipts.length} ${receipts.length === 1 ? 'delivery' : 'deliveries'} sent`,
    got: `${receipts.filter(({ state }) => state === 'sent').length} sent`,
    next: nextStep(states.has('unknown'), run),
    // `sending`: another worker holds the row just now, and the next try will know more.
    retryable: states.has('pending') || states.has('sending'),
  });
}

function nextStep(unknown: boolean, run: string | undefined): string {
  if (unknown) {
    const ask =
      'Ask the recipients of the unknown ones whether it has arrived: Docket does not send these again by itself';
    return run === undefined ? `${ask}.` : `${ask}; \`docket deliveries resolve\` settles them.`;
  }
  return run === undefined
    ? 'Correct what the target says. A new run sends to everybody again, also to those who have it.'
    : `Correct what the target says, then \`docket runs retry ${run}\`: it sends to those alone who do not have it.`;
}
