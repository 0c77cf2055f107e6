import { setMaxListeners } from 'node:events';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { type Clock, systemClock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import { type Log, silentLog } from '../base/log.ts';
import { Secret } from '../base/secrets/secret.ts';
import { LIMITS, RATE_LIMITS } from '../contract/limits.ts';
import { issueKeys } from './api-keys.ts';
import { createApp } from './app.ts';
import { ABORTED_HEADER, respondWithFaults } from './fault-injection.ts';
import { createFaultInjector, type Fault } from './faults.ts';
import { ORGANIZATIONS, type OrganizationSpec } from './generator/organizations.ts';
import { randomSource } from './generator/random.ts';
import type { LimiterAlgorithm } from './limiter.ts';
import { reportCache } from './reports/report-cache.ts';
import { createSandboxState } from './tenants.ts';

export { type Fault, parseFault } from './faults.ts';
export { dump } from './generator/dump.ts';

/** The seed of the keys in the documentation. */
export const DEFAULT_SEED = 1;

export interface SandboxOptions {
  /** Default: 0, a free port. */
  readonly port?: number;
  /** Default: 127.0.0.1. */
  readonly host?: string;
  /** Seed of the generated data and keys. Default: 1. */
  readonly seed?: number;
  /** Epoch ms at which the history ends. Default: the running clock. */
  readonly now?: number;
  /** The share of profiles and invitations without a group: null in rows, and not in the catalog. Default: 0. */
  readonly ungrouped?: number;
  /** For limits, the cache and latency. Default: the system clock. */
  readonly clock?: Clock;
  /** The length of the minute in specification §8, in ms. Default: 60000. */
  readonly windowMs?: number;
  readonly limiter?: LimiterAlgorithm;
  /** How long reports are cached, in seconds. Default: an hour. 0 disables the cache. */
  readonly cacheSeconds?: number;
  readonly faults?: readonly Fault[];
  readonly log?: Log;
}

/** A received request, for tests. */
export interface SandboxRequest {
  /** Epoch ms. */
  readonly at: number;
  /** `Secret.fingerprint()` of the presented key, or null. */
  readonly key: string | null;
  readonly method: string;
  /** Including the query. */
  readonly path: string;
  /** 0 if a fault prevented a complete response. */
  readonly status: number;
}

export interface Sandbox {
  readonly url: string;
  readonly organizations: readonly OrganizationSpec[];
  /** The keys that the sandbox provides. `organizations` are the ids that the key can access. */
  readonly keys: readonly {
    readonly label: string;
    readonly key: string;
    readonly organizations: readonly number[];
    readonly what: string;
  }[];
  /** The latest requests, oldest first. At most 10,000 are kept. */
  requests(): readonly SandboxRequest[];
  setFaults(faults: readonly Fault[]): void;
  close(): Promise<void>;
}

const MAX_RECORDED_REQUESTS = 10_000;
/** How long (ms) the server keeps an idle connection. */
const IDLE_CONNECTION_MS = 65_000;

/** Creates the sandbox without a network, for `startSandbox` and for tests in the same process. */
export function buildSandbox(options: SandboxOptions = {}) {
  const seed = options.seed ?? DEFAULT_SEED;
  const clock = options.clock ?? systemClock;
  const faults = createFaultInjector(options.faults ?? [], randomSource(seed, 0x5ab0).uniform);
  const now = () => (options.now ?? clock.now()) + faults.skew();
  const state = createSandboxState(seed, now, options.ungrouped, faults.lateEntries);
  const keys = issueKeys(seed, now());
  const app = createApp({
    state,
    keys,
    cache: reportCache(options.cacheSeconds ?? LIMITS.report_cache_seconds),
    clock: () => clock.now(),
    limiter: options.limiter ?? 'sliding',
    windowMs: options.windowMs ?? RATE_LIMITS.metrics.windowMs,
    log: options.log ?? silentLog,
  });
  return { app, clock, faults, keys, world: state };
}

/** Starts the Compliance Service with generated data. Throws `usage.invalid` if it cannot listen on the address. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { app, clock, faults, keys } = buildSandbox(options);
  const log = options.log ?? silentLog;
  const host = options.host ?? '127.0.0.1';
  const requests: SandboxRequest[] = [];
  const stopping = new AbortController();
  // Each delayed response adds a listener, and from the eleventh on Node would warn of a leak.
  setMaxListeners(0, stopping.signal);

  const fetch = async (request: Request, env: HttpBindings): Promise<Response> => {
    const at = clock.now();
    const { pathname, search } = new URL(request.url);
    const presented = /^Api-Key (.+)$/.exec(request.headers.get('Authorization') ?? '')?.[1];
    const response = await respondWithFaults(
      Object.fromEntries(request.headers),
      faults.faultsFor(pathname),
      faults.skew(),
      () => Promise.resolve(app.fetch(request, env)),
      env.outgoing,
      // Closing the sandbox ends the delay. The connection is closed by then.
      (ms) => clock.sleep(ms, stopping.signal).catch(() => undefined),
      stopping.signal,
    );
    const record: SandboxRequest = {
      at,
      key: presented === undefined ? null : new Secret(presented).fingerprint(),
      method: request.method,
      path: pathname + search,
      status: response.headers.has(ABORTED_HEADER) ? 0 : response.status,
    };
    requests.push(record);
    if (requests.length > MAX_RECORDED_REQUESTS) requests.shift();
    log.info('Answered', { path: record.path, status: record.status, ms: clock.now() - at });
    return response;
  };

  const server = createAdaptorServer({
    fetch: (request, env) => fetch(request, env as HttpBindings),
    overrideGlobalObjects: false,
  });
  // Longer than clients keep an idle connection: if the server closes it first, a request that is on its way may be
  // lost.
  if ('keepAliveTimeout' in server) server.keepAliveTimeout = IDLE_CONNECTION_MS;
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new DocketError('usage.invalid', `The sandbox cannot listen on ${host}:${options.port ?? 0}.`, {
          expected: 'a free port on an address of this machine',
          got: cause.message,
          next: 'Choose another --port, or 0 for a free one.',
          cause,
        }),
      ),
    );
    server.listen(options.port ?? 0, host, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    organizations: ORGANIZATIONS,
    keys: keys.map(({ stored, text }) => ({
      label: stored.label,
      key: text,
      organizations: [...stored.owner.roles.keys()].filter((id) => !stored.scoped || stored.home === id),
      what: stored.what,
    })),
    requests: () => [...requests],
    setFaults: faults.set,
    close: async () => {
      stopping.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      if ('closeAllConnections' in server) server.closeAllConnections();
      await closed;
    },
  };
}
