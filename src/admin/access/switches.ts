import { isOrganization } from '../../services/definitions/current-report.ts';
import {
  createSwitchService,
  type ReleaseChoice,
  type ReleaseResult,
  type StoppedRun,
  type Switch,
  type SwitchTarget,
} from '../../services/switches/switch-service.ts';
import { canSee, type Principal } from '../auth/tokens.ts';
import { assertOperator, assertVisible, auditActor, notFoundError } from './guards.ts';
import type { AdminServices } from './services.ts';

/**
 * The stop of deliveries and the legal hold. Only operators of all organizations may change those of the whole
 * deployment.
 */
export const switchesAccess = (services: AdminServices, principal: Principal) => {
  const assertMayChange = ({ org }: SwitchTarget): void => {
    if (org === null) {
      if (principal.orgs !== '*') throw notFoundError();
    } else assertVisible(principal, org);
    assertOperator(principal);
  };
  return {
    /**
     * The switches of the visible organizations and of the whole deployment. Empty if neither Redis nor the archive
     * knows them.
     */
    switches: async (): Promise<readonly Switch[]> =>
      ((await services.switches.known())?.switches ?? []).filter(({ org }) => org === null || canSee(principal, org)),

    /** The runs whose deliveries wait for the release of a stop, newest first. */
    stoppedRuns: (): Promise<readonly StoppedRun[]> => createSwitchService(services).waiting(principal.orgs),

    /** Throws `archive.*` and `switch.unreadable`. @returns the switch in force, which may have been set before */
    setSwitch: async (target: SwitchTarget, reason: string): Promise<Switch> => {
      assertMayChange(target);
      if (target.org !== null && !isOrganization(services.jobs(), target.org)) throw notFoundError();
      return createSwitchService(services).set(target, auditActor(principal, reason));
    },

    /** Throws `archive.*` and `switch.unreadable`. */
    releaseSwitch: async (target: SwitchTarget, reason: string, choice: ReleaseChoice): Promise<ReleaseResult> => {
      assertMayChange(target);
      return createSwitchService(services).release(target, auditActor(principal, reason), choice);
    },
  };
};
