import { DocketError } from '../../base/error.ts';
import { remainingApprovers } from '../../definitions/people.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import type { RunOrder } from '../../run/run-record.ts';

/** Who triggers a run. A schedule has neither field; a user of the shell has only `by`. */
export interface Requester {
  readonly by?: RunOrder['by'] | undefined;
  readonly bySubject?: RunOrder['bySubject'] | undefined;
}

/**
 * Throws `approval.unreachable` if too few people could approve, because the run would wait forever. With `four_eyes`,
 * the person who triggers a run cannot approve it.
 */
export function assertApprovable(
  {
    definition: { approval },
    settings: { people },
  }: { readonly definition: Definition; readonly settings: OrgSettings },
  { by, bySubject }: Requester,
): void {
  if (approval?.four_eyes !== true) return;
  const remaining = remainingApprovers(approval.by, people, {
    triggeredBy: by,
    triggeredBySubject: bySubject,
    authors: [],
  });
  if (remaining.length >= approval.need) return;
  throw new DocketError('approval.unreachable', 'If you trigger this run, too few people can approve it.', {
    expected: `${approval.need} of approval.by who did not trigger it (four_eyes)`,
    got: remaining.length === 0 ? 'nobody' : remaining.map(({ name }) => name).join(', '),
    next: 'Ask somebody who is not an approver to trigger it, or trigger it without deliveries.',
  });
}
