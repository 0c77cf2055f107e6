import type { DeploymentProblem } from '../../services/deployment/deployment-problems.ts';
import type { Access } from './access.ts';

export interface DeploymentPorts {
  /** Throws `redis.unreachable`. */
  readonly deploymentProblems: () => Promise<readonly DeploymentProblem[]>;
}

/** Problems of the deployment: the same for every principal, as `/readyz`. */
export const deploymentAccess = ({ deploymentProblems }: DeploymentPorts): Pick<Access, 'deploymentProblems'> => ({
  deploymentProblems,
});
