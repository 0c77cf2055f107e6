import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { AuditLog } from '../../services/audit-log.ts';
import type { BudgetOverview } from '../../services/budgets/inspect-budgets.ts';
import type { DeploymentProblem } from '../../services/deployment/deployment-problems.ts';
import { canSee, type Principal } from '../auth/tokens.ts';
import { type Access, assertVisible } from './access.ts';
import { type CorrectionsPorts, correctionsAccess, type ReadingsPorts, readingsAccess } from './corrections.ts';
import { type DefinitionsPorts, definitionsAccess } from './definitions.ts';
import { type DeliveriesPorts, deliveriesAccess, type SearchAccessPorts, searchAccess } from './deliveries.ts';
import { type FilesPorts, filesAccess, type HeldRunPorts, heldRunAccess } from './files.ts';
import { type PausesPorts, pausesAccess } from './pauses.ts';
import { type ReportsPorts, reportsAccess } from './reports.ts';
import { type ReviewsPorts, reviewsAccess } from './reviews.ts';
import { type RunsPorts, runsAccess, type WatchPorts, watchAccess } from './runs.ts';
import { type SlotsPorts, slotsAccess } from './slots.ts';
import { type TimelinePorts, timelineAccess } from './timeline.ts';

/** All ports behind `Access`. */
export type AccessPorts = ReportsPorts &
  RunsPorts &
  FilesPorts &
  HeldRunPorts &
  ReviewsPorts &
  DeliveriesPorts &
  PausesPorts &
  CorrectionsPorts &
  ReadingsPorts &
  AuditPorts &
  SlotsPorts &
  BudgetsPorts &
  DeploymentPorts &
  SearchAccessPorts &
  DefinitionsPorts &
  TimelinePorts &
  WatchPorts;

/** Creates the access of a principal. Calls no port yet. */
export const createAccess = (ports: AccessPorts, principal: Principal): Access => ({
  principal,
  ...reportsAccess(ports, principal),
  ...runsAccess(ports, principal),
  ...filesAccess(ports, principal),
  ...heldRunAccess(ports, principal),
  ...reviewsAccess(ports, principal),
  ...timelineAccess(ports, principal),
  ...deliveriesAccess(ports, principal),
  ...pausesAccess(ports, principal),
  ...readingsAccess(ports, principal),
  ...correctionsAccess(ports, principal),
  ...slotsAccess(ports, principal),
  ...budgetsAccess(ports, principal),
  ...deploymentAccess(ports),
  ...definitionsAccess(ports, principal),
  ...watchAccess(ports, principal),
  ...auditAccess(ports, principal),
  ...searchAccess(ports, principal),
});

export interface AuditPorts {
  readonly audit: Pick<AuditLog, 'list'>;
}

/** Entries of the visible organizations; entries without an organization only for an operator of all organizations. */
const auditAccess = ({ audit }: AuditPorts, principal: Principal): Pick<Access, 'audit'> => ({
  audit: async ({ org, ...filter }) => {
    if (org !== undefined) assertVisible(principal, org);
    return audit.list({
      ...filter,
      orgs: org === undefined ? principal.orgs : [org],
      includeGlobal: org === undefined && principal.orgs === '*' && principal.role === 'operator',
    });
  },
});

export interface BudgetsPorts extends Pick<ReportsPorts, 'jobs'> {
  /** The budgets of these organizations' API keys. Throws `redis.unreachable`. */
  readonly budgetsOf: (orgs: readonly OrgSettings[]) => Promise<BudgetOverview>;
}

const KEY_UNKNOWN_MESSAGE = 'Its API key is not known to this process; the reason is shown to operators.';

function budgetsAccess({ jobs, budgetsOf }: BudgetsPorts, principal: Principal): Pick<Access, 'budgets'> {
  return {
    budgets: async () => {
      const found = await budgetsOf([...jobs().orgs.values()].filter(({ id }) => canSee(principal, id)));
      if (principal.role === 'operator') return found;
      // The reason names a variable or a path of this machine: only for operators.
      return { ...found, unknown: found.unknown.map(({ org }) => ({ org, why: KEY_UNKNOWN_MESSAGE })) };
    },
  };
}

export interface DeploymentPorts {
  /** Throws `redis.unreachable`. */
  readonly deploymentProblems: () => Promise<readonly DeploymentProblem[]>;
}

/** Problems of the deployment: the same for every principal, as `/readyz`. */
const deploymentAccess = ({ deploymentProblems }: DeploymentPorts): Pick<Access, 'deploymentProblems'> => ({
  deploymentProblems,
});
