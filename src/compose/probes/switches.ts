import { isoInstant } from '../../base/time.ts';
import { archivedDenials } from '../../deliver/denials/shared-denials.ts';
import { archivedSwitches } from '../../deliver/switches/archived-switches.ts';
import { stopSentence, switchScope } from '../../deliver/switches/switches.ts';
import { type Finding, ok, runCheck, warn } from '../../services/deployment/probe.ts';
import { withArchive } from '../archive.ts';
import type { Examination } from './probe-context.ts';

const WHAT = 'Stops and legal holds';

/** The stops and holds in force, as this machine reads them from the archive. */
export async function checkSwitches({ context }: Pick<Examination, 'context'>): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  const read = await runCheck(WHAT, () =>
    withArchive(context, async ({ storage }) => {
      const { switches } = await archivedSwitches(storage).read();
      for (const each of switches) {
        const option = each.org ?? '--all';
        const detail =
          each.kind === 'stop'
            ? stopSentence(each)
            : `A legal hold covers ${switchScope(each)} since ${isoInstant(each.since)} by ${each.by}: ${each.reason}`;
        const release = `\`docket ${each.kind} ${option} --release --reason "…"\` ends it.`;
        found.push({ what: WHAT, ...warn(detail, release) });
      }
      return ok('none');
    }),
  );
  return found.length > 0 ? found : [read];
}

/** Checks that this machine can read the deny list. */
export const checkDenyList = ({ context }: Pick<Examination, 'context'>): Promise<Finding> =>
  runCheck('Deny list', () =>
    withArchive(context, async ({ storage }) => {
      const { entries } = await archivedDenials(storage).read();
      return ok(entries.length === 0 ? 'empty' : `addresses and domains: ${entries.length}`);
    }),
  );
