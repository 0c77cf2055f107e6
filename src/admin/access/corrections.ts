import { DocketError } from '../../base/error.ts';
import type { ReadingIndex } from '../../queue/schedules/reading-index.ts';
import type { AuditLog } from '../../services/audit-log.ts';
import { dismissCorrection, sendCorrection } from '../../services/corrections/audited-corrections.ts';
import {
  type CorrectionService,
  type CorrectionView,
  requireCorrection,
} from '../../services/corrections/correction-service.ts';
import type { WatchIndex } from '../../services/corrections/watch-index.ts';
import { canSee, type Principal } from '../auth/tokens.ts';
import { type Access, assertOperator, assertVisible, auditActor, notFoundError } from './access.ts';

export interface CorrectionsPorts {
  readonly corrections: CorrectionService;
  readonly correctionIndex: Pick<WatchIndex, 'summaries'>;
  readonly audit: Pick<AuditLog, 'list' | 'record'>;
}

export function correctionsAccess(
  ports: CorrectionsPorts,
  principal: Principal,
): Pick<Access, 'correctionSummaries' | 'corrections' | 'correction' | 'sendCorrection' | 'dismissCorrection'> {
  const { corrections } = ports;
  const requireOne = async (id: string): Promise<CorrectionView> => {
    try {
      return await requireCorrection(id, principal.orgs, corrections);
    } catch (thrown) {
      if (thrown instanceof DocketError && thrown.code === 'correction.not_found') throw notFoundError();
      throw thrown;
    }
  };
  return {
    correctionSummaries: async () =>
      (await ports.correctionIndex.summaries()).filter(({ org }) => canSee(principal, org)),
    corrections: async ({ org, state } = {}) => {
      if (org !== undefined) assertVisible(principal, org);
      const found = await corrections.list(org === undefined ? principal.orgs : [org]);
      return state === undefined ? found : found.filter((one) => one.state === state);
    },
    correction: requireOne,
    sendCorrection: async (id, reason) => {
      const found = await requireOne(id);
      assertOperator(principal);
      const actor = { ...auditActor(principal, reason), subject: principal.subject };
      const { correction, record } = await sendCorrection(found, actor, ports);
      return { correction, run: record.id };
    },
    dismissCorrection: async (id, reason) => {
      const found = await requireOne(id);
      assertOperator(principal);
      return dismissCorrection(found, auditActor(principal, reason), ports);
    },
  };
}

export interface ReadingsPorts {
  readonly readings: Pick<ReadingIndex, 'list'>;
}

/** Recent readings of current counts. */
export const readingsAccess = ({ readings }: ReadingsPorts, principal: Principal): Pick<Access, 'readings'> => ({
  readings: async () => (await readings.list()).filter(({ org }) => canSee(principal, org)),
});
