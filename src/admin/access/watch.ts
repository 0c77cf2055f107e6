import type { Clock } from '../../base/clock.ts';
import { toDocketError } from '../../base/error.ts';
import type { LiveRuns } from '../../queue/live.ts';
import { type RunIds, resolveRunId } from '../../queue/short-id.ts';
import { watchRun } from '../../queue/watch.ts';
import type { Access } from '../access.ts';
import type { Principal } from '../auth/tokens.ts';
import { notThere, requireSeen } from './may.ts';

export interface WatchPorts {
  readonly live: Pick<LiveRuns, 'read'>;
  readonly runs: RunIds;
  readonly clock: Clock;
}

/** Runs as they go on. */
export function watchAccess(ports: WatchPorts, principal: Principal): Pick<Access, 'watch'> {
  return {
    watch: async function* (text, signal) {
      const id = await resolveRunId(text, ports.runs, principal.orgs);
      if (id === undefined) throw notThere();
      try {
        for await (const news of watchRun(id, signal, ports)) {
          requireSeen(principal, news.record.org);
          yield news;
        }
      } catch (thrown) {
        // Told in other words than of another organization's run, it would tell that there is none.
        throw toDocketError(thrown).code === 'run.not_found' ? notThere() : thrown;
      }
    },
  };
}
