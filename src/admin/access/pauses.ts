import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../base/clock.ts';
import type { Pauses } from '../../queue/pauses.ts';
import type { Access } from '../access.ts';
import type { Audit } from '../auth/audit.ts';
import { maySee, type Principal } from '../auth/tokens.ts';
import { doer, notThere, requireOperator, requireSeen } from './may.ts';
import { isOrganization, type ReportsPorts, reportNow } from './reports.ts';

export interface PausesPorts extends Pick<ReportsPorts, 'jobs' | 'lastGood'> {
  readonly pauses: Pick<Pauses, 'list' | 'put' | 'lift'>;
  readonly clock: Clock;
  readonly audit: Pick<Audit, 'tell'>;
}

/** What is paused, and pausing it: an organization's scheduled runs or one report's. */
export function pausesAccess(ports: PausesPorts, principal: Principal): Pick<Access, 'pauses' | 'pause' | 'resume'> {
  const { pauses, clock, audit } = ports;
  return {
    pauses: async () => (await pauses.list()).filter(({ org }) => maySee(principal, org)),

    pause: async (org, report, reason) => {
      requireSeen(principal, org);
      const there =
        report === null
          ? isOrganization(ports.jobs(), org)
          : (await reportNow(ports, org, report)).version !== undefined;
      if (!there) throw notThere();
      requireOperator(principal);
      const asked = { org, report, who: principal.name, why: reason, since: clock.now(), key: null, run: null };
      const stands = await pauses.put(asked);
      // The pause that stood before is somebody else's deed, or was told of already.
      if (isDeepStrictEqual(stands, asked)) {
        await audit.tell({ event: 'schedule.paused', ...doer(principal), ...named(org, report), why: reason });
      }
      return stands;
    },

    // Of something that is gone as well: its pause may still be there.
    resume: async (org, report, reason) => {
      requireSeen(principal, org);
      requireOperator(principal);
      const lifted = await pauses.lift({ org, report }, principal.name, reason);
      if (lifted.length > 0) {
        await audit.tell({ event: 'schedule.resumed', ...doer(principal), ...named(org, report), why: reason });
      }
      return lifted;
    },
  };
}

const named = (org: string, report: string | null) => (report === null ? { org } : { org, report });
