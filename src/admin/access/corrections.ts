import { DocketError } from '../../base/error.ts';
import type { Correction } from '../../services/corrections/correction.ts';
import { type CorrectionView, requireCorrection } from '../../services/corrections/correction-service.ts';
import { type DefinitionChoice, requireCurrent } from '../../services/corrections/open-correction.ts';
import type { CorrectionSummary } from '../../services/corrections/watch-index.ts';
import { currentReport } from '../../services/definitions/current-report.ts';
import { canSee, type Principal } from '../auth/tokens.ts';
import { assertOperator, auditActor, getVisibleRun, notFoundError, visibleOrgs } from './guards.ts';
import type { AdminServices } from './services.ts';

/** Corrections of delivered figures. Their ids may be prefixes, e.g. `83b1c195-1`. */
export function correctionsAccess(services: AdminServices, principal: Principal) {
  const correction = async (id: string): Promise<CorrectionView> => {
    try {
      return await requireCorrection(id, principal.orgs, services.correctionService);
    } catch (thrown) {
      if (thrown instanceof DocketError && thrown.code === 'correction.not_found') throw notFoundError();
      throw thrown;
    }
  };
  return {
    /**
     * Number of corrections that wait for a decision, by organization, as counted in the last minutes. Does not read
     * the archive.
     */
    correctionSummaries: async (): Promise<readonly CorrectionSummary[]> =>
      (await services.correctionIndex.summaries()).filter(({ org }) => canSee(principal, org)),

    /** Corrections, newest first. */
    corrections: async ({
      org,
      state,
    }: {
      readonly org?: string | undefined;
      readonly state?: Correction['state'] | undefined;
    } = {}): Promise<readonly Correction[]> => {
      const found = await services.correctionService.list(visibleOrgs(principal, org));
      return state === undefined ? found : found.filter((one) => one.state === state);
    },

    /** One correction, with the delivered edition and who would receive a corrected one. */
    correction,

    /** Sends a corrected edition of a delivered run. Throws what `CorrectionService.open` throws. */
    openCorrection: async (
      id: string,
      { comment, definition }: { readonly comment?: string | undefined; readonly definition: DefinitionChoice },
      reason: string,
    ): Promise<{ readonly correction: CorrectionView; readonly run: string }> => {
      const { id: run, org, report } = await getVisibleRun(services, principal, id);
      assertOperator(principal);
      const current = definition === 'current' ? requireCurrent(await currentReport(services, org, report)) : undefined;
      const actor = { ...auditActor(principal, reason), subject: principal.subject };
      const request = { reason, comment, definition: current };
      const opened = await services.correctionService.open({ id: run, org, report }, request, actor);
      return { correction: opened.correction, run: opened.record.id };
    },

    /** Opens the run of the corrected edition. Throws `correction.conflict`. */
    sendCorrection: async (
      id: string,
      reason: string,
    ): Promise<{ readonly correction: Correction; readonly run: string }> => {
      const found = await correction(id);
      assertOperator(principal);
      const actor = { ...auditActor(principal, reason), subject: principal.subject };
      const sent = await services.correctionService.send(found, actor);
      return { correction: sent.correction, run: sent.record.id };
    },

    /** Throws `correction.conflict`. */
    dismissCorrection: async (id: string, reason: string): Promise<Correction> => {
      const found = await correction(id);
      assertOperator(principal);
      return services.correctionService.dismiss(found, auditActor(principal, reason));
    },
  };
}
