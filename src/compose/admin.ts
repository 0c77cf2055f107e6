import { createAdmin } from '../admin/app.ts';
import type { Metrics } from '../admin/metrics.ts';
import { type AdminServer, listenAdmin } from '../admin/server.ts';
import { noTokens, tokenFile } from '../admin/token-file.ts';
import { toDocketError } from '../base/error.ts';
import type { Jobs } from '../define/load.ts';
import type { Surroundings } from './ports.ts';
import type { RunningWorker } from './worker.ts';

/**
 * The admin route in front of a worker. Throws `config.invalid` when it cannot listen or the tokens cannot be read.
 *
 * @param metrics those that observe this worker
 */
export async function composeAdmin(
  { config, clock, log }: Surroundings,
  jobs: Jobs,
  worker: RunningWorker,
  metrics: Metrics,
): Promise<AdminServer> {
  const { DOCKET_ADMIN_TOKENS: file, DOCKET_ADMIN_HOST: host, DOCKET_ADMIN_PORT: port } = config;
  const app = createAdmin({
    trigger: worker.trigger,
    runs: worker.runs,
    decisions: worker.decisions,
    reports: (org, report) => {
      const definition = jobs.reports.get(`${org}/${report}`);
      const settings = jobs.orgs.get(org);
      return definition === undefined || settings === undefined ? undefined : { definition, settings };
    },
    tokens: file === undefined ? noTokens(log) : await tokenFile(file, { clock, log }),
    health: async () => [
      await worker.ping().then(
        () => ({ name: 'redis', ok: true }),
        (thrown: unknown) => ({ name: 'redis', ok: false, detail: toDocketError(thrown).message }),
      ),
      {
        name: 'definitions',
        ok: jobs.reports.size > 0,
        detail: `${jobs.reports.size} loaded, ${jobs.faults.length} faults`,
      },
    ],
    metrics: () => metrics.scrape(worker.readings),
    clock,
    log,
  });
  return listenAdmin(app, { host, port, log });
}
