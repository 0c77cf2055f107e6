import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TERMINAL_STATES } from '../../src/run/run-record.ts';
import { leaksIn, leaksInRedis } from '../support/secret-scan.ts';
import { archivedRuns, callsOf, misdealtMails, type RecordReader } from './collect-facts.ts';
import { figuresOf } from './compare-figures.ts';
import { BUDGET } from './definitions.ts';
import type { Deployment } from './deployment.ts';
import { type CheckName, failedByTransientError, overBudget } from './reconcile.ts';

interface Soaked {
  readonly deployment: Deployment;
  readonly record: RecordReader;
}

/** Whether a line is broken by now. A broken line stays broken. */
type Probe = (soaked: Soaked) => Promise<boolean>;

const PROBES = {
  'second deployments that started': async ({ deployment }) => deployment.started.length > 0,
  'files written to the unmounted archive folder': async ({ deployment }) => deployment.strayFiles.length > 0,
  'rate-limit windows exceeded at the server': async ({ deployment }) =>
    overBudget({ calls: callsOf(deployment), budget: { calls: BUDGET.calls, windowMs: BUDGET.window * 1000 } }).over >
    0,
  'sent twice': async ({ deployment }) => {
    const mails = deployment.sink.arrived().flatMap(({ run, to }) => to.map((address) => `${run} ${address}`));
    return new Set(mails).size < mails.length;
  },
  'received by the wrong desk': async ({ deployment }) => (await misdealtMails(deployment)).length > 0,
  'runs failed by a transient error': async ({ record }) =>
    (await record.runs()).some((run) => failedByTransientError(run)),
  'calls before a slot that passed waiting calls of runs': async ({ deployment }) => deployment.overtaken.length > 0,
  'organizations paused': async ({ record }) => (await record.paused()).length > 0,
  // Counts runs that have no job left. Only the end of the soak shows whether they stay unfinished.
  'unfinished runs': async ({ record }) => {
    const open = (await record.runs()).filter(({ state }) => !TERMINAL_STATES.has(state));
    return open.length > (await record.jobs());
  },
  'secrets in logs, Redis, the archive or deliveries': async ({ deployment }) => {
    const logged = await leaksIn(join(deployment.folder, 'log'));
    return logged.length > 0 || (await leaksInRedis(deployment.redis.url)).length > 0;
  },
  'figures that differ from the service': async ({ deployment, record }) => {
    const known = new Map((await record.runs()).map((run) => [run.id, run]));
    return (await figuresOf(deployment, await archivedRuns(deployment, []), known)).wrong.length > 0;
  },
} as const satisfies Partial<Record<CheckName, Probe>>;

/** The lines for which a breach can be detected during the soak. */
export type ProbedLine = keyof typeof PROBES;

const PAUSE_MS = 2_000;

export interface LineWatch {
  /** Aborted once all lines are broken. */
  readonly broken: AbortSignal;
  close(): Promise<void>;
}

/**
 * Checks the lines every two seconds, or less often when a check takes long. `reconcile` gives the verdict at the end.
 */
export function watchLines(lines: readonly ProbedLine[], soaked: Soaked): LineWatch {
  const broken = new AbortController();
  const closed = new AbortController();
  const left = new Set(lines);
  const look = async (): Promise<void> => {
    while (left.size > 0) {
      const began = performance.now();
      for (const line of left) {
        // Redis or the archive may be unavailable at the moment.
        if (await PROBES[line](soaked).catch(() => false)) left.delete(line);
      }
      await sleep(Math.max(PAUSE_MS, 2 * (performance.now() - began)), undefined, { signal: closed.signal });
    }
    broken.abort();
  };
  const looking = look().catch((error: unknown) => {
    if (!closed.signal.aborted) throw error;
  });
  return {
    broken: broken.signal,
    close: async () => {
      closed.abort();
      await looking;
    },
  };
}
