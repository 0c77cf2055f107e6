import type { Jobs } from '../define/load.ts';
import type { Paused } from '../queue/pauses.ts';

/** `<org>` or `<org>/<report>` as it was typed. */
export function readTarget(text: string): Paused {
  const [org = '', ...rest] = text.split('/');
  return { org, report: rest.length === 0 ? null : rest.join('/') };
}

/** What is not there was misspelt, and must not be answered as if all were well. Throws `definition.not_found` with what is near. */
export async function requireTarget(jobs: Jobs, { org, report }: Paused): Promise<void> {
  const [{ DocketError }, { requireReport }, { nearest }] = await Promise.all([
    import('../base/error.ts'),
    import('../define/load.ts'),
    import('../define/nearest.ts'),
  ]);
  if (report !== null) {
    requireReport(jobs, `${org}/${report}`);
    return;
  }
  if (jobs.orgs.has(org)) return;
  const known = [...jobs.orgs.keys()];
  const near = nearest(org, known, 3);
  throw new DocketError('definition.not_found', `There is no organization ${JSON.stringify(org)}.`, {
    expected:
      known.length === 0
        ? `an organization in ${jobs.folder}`
        : `one of ${(near.length > 0 ? near : known.slice(0, 20)).join(', ')}`,
    next: '`docket pause` lists what is paused.',
  });
}
