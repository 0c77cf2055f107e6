import type { Pauses } from '../../queue/schedules/pauses.ts';
import { type CurrentReportPorts, currentReport, isOrganization } from '../../services/definitions/current-report.ts';
import { type PauseSchedulesPorts, pauseSchedules, resumeSchedules } from '../../services/runs/pause-schedules.ts';
import { canSee, type Principal } from '../auth/tokens.ts';
import { type Access, assertOperator, assertVisible, auditActor, notFoundError } from './access.ts';

export interface PausesPorts extends CurrentReportPorts, PauseSchedulesPorts {
  readonly pauses: Pick<Pauses, 'list' | 'put' | 'lift'>;
}

/** Pauses of the scheduled runs of organizations and reports. */
export function pausesAccess(ports: PausesPorts, principal: Principal): Pick<Access, 'pauses' | 'pause' | 'resume'> {
  return {
    pauses: async () => (await ports.pauses.list()).filter(({ org }) => canSee(principal, org)),

    pause: async (org, report, reason) => {
      assertVisible(principal, org);
      const exists =
        report === null
          ? isOrganization(ports.jobs(), org)
          : (await currentReport(ports, org, report)).version !== undefined;
      if (!exists) throw notFoundError();
      assertOperator(principal);
      return pauseSchedules({ org, report }, auditActor(principal, reason), ports);
    },

    // A removed report may still have a pause.
    resume: async (org, report, reason) => {
      assertVisible(principal, org);
      assertOperator(principal);
      return resumeSchedules({ org, report }, auditActor(principal, reason), ports);
    },
  };
}
