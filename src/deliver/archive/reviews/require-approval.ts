import { DocketError } from '../../../base/error.ts';
import type { Definition } from '../../../definitions/schema/report-definition.ts';
import type { Manifest } from '../manifest.ts';

/**
 * The last check before anything is sent: a report with `approval` has a manifest with approvals by enough different people.
 * The manifest is what was published; nobody can add an approval to it. Throws `review.not_approved`.
 */
export function assertApproved({ approval }: Pick<Definition, 'approval'>, { review, run }: Manifest): void {
  if (approval === undefined) return;
  const people = new Set(review?.approved_by.map(({ person }) => person));
  const signIns = new Set(review?.approved_by.map(({ principal }) => principal));
  const given = Math.min(people.size, signIns.size);
  if (given >= approval.need) return;
  throw new DocketError('review.not_approved', `Run ${run} is not approved.`, {
    expected: `approvals by ${approval.need} different ${approval.need === 1 ? 'person' : 'people'} in manifest.json`,
    got: given === 0 ? 'none' : String(given),
    next: 'Nothing was sent. Trigger the report again: its new run waits for approval.',
    retryable: false,
  });
}
