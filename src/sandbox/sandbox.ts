import { setMaxListeners } from 'node:events';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { type Clock, systemClock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import { type Log, silentLog } from '../base/log.ts';
import { Secret } from '../base/secret.ts';
import { LIMITS, RATES } from '../contract/limits.ts';
import { createApp } from './app.ts';
import { reportCache } from './cache.ts';
import { disturb, UNANSWERED } from './disturb.ts';
import { type Fault, faultLine } from './fault.ts';
import { issueKeys } from './keys.ts';
import type { LimiterKind } from './limiter.ts';
import { ORGANIZATIONS, type OrganizationSpec } from './organizations.ts';
import { draws } from './random.ts';
import { createWorld } from './world.ts';

export { dump } from './dump.ts';
export { FAULT_KINDS, type Fault, parseFault } from './fault.ts';
export { LIMITERS } from './limiter.ts';

/** The seed of the keys that the documentation names. */
export const DEFAULT_SEED = 1;

export interface SandboxOptions {
  /** 0, the default, takes a free one. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Names the generated data and keys; default 1. */
  readonly seed?: number;
  /** Epoch ms at which the history ends and stands still; default: the clock, running. */
  readonly now?: number;
  /** Share of the profiles and invitations without a group, which the catalog does not list and rows have as null; default 0. */
  readonly ungrouped?: number;
  /** By which limits, the cache and latency run; default the real one. */
  readonly clock?: Clock;
  /** The minute of specification §8, ms; default 60000. */
  readonly windowMs?: number;
  readonly limiter?: LimiterKind;
  /** How long reports are held, seconds; default an hour, 0 computes each anew. */
  readonly cacheSeconds?: number;
  readonly faults?: readonly Fault[];
  readonly log?: Log;
}

/** A request that came, for tests. */
export interface SandboxRequest {
  /** Epoch ms. */
  readonly at: number;
  /** `Secret.fingerprint()` of the presented key, or null. */
  readonly key: string | null;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** 0 when a fault left it without a whole answer. */
  readonly status: number;
}

export interface Sandbox {
  readonly url: string;
  readonly organizations: readonly OrganizationSpec[];
  /** Ready-made keys; `organizations` are the ids that the key reaches. */
  readonly keys: readonly {
    readonly label: string;
    readonly key: string;
    readonly organizations: readonly number[];
    readonly what: string;
  }[];
  /** The latest requests, oldest first; at most 10,000 are kept. */
  requests(): readonly SandboxRequest[];
  setFaults(faults: readonly Fault[]): void;
  close(): Promise<void>;
}

const KEPT_REQUESTS = 10_000;

/** The sandbox without a network: what `startSandbox` serves, and what tests call in process. */
export function buildSandbox(options: SandboxOptions = {}) {
  const seed = options.seed ?? DEFAULT_SEED;
  const clock = options.clock ?? systemClock;
  const faults = faultLine(options.faults ?? [], draws(seed, 0x5ab0).share);
  const now = () => (options.now ?? clock.now()) + faults.skew();
  const world = createWorld(seed, now, options.ungrouped);
  const keys = issueKeys(seed, now());
  const app = createApp({
    world,
    keys,
    cache: reportCache(options.cacheSeconds ?? LIMITS.report_cache_seconds),
    clock: () => clock.now(),
    limiter: options.limiter ?? 'sliding',
    windowMs: options.windowMs ?? RATES.metrics.windowMs,
    log: options.log ?? silentLog,
  });
  return { app, clock, faults, keys, world };
}

/** Starts the Compliance Service over generated data. Throws `usage.invalid` when the address cannot be listened on. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { app, clock, faults, keys } = buildSandbox(options);
  const log = options.log ?? silentLog;
  const host = options.host ?? '127.0.0.1';
  const requests: SandboxRequest[] = [];
  const stopping = new AbortController();
  // Each answer that is delayed listens to it: Node would warn of a leak from the eleventh on.
  setMaxListeners(0, stopping.signal);

  const fetch = async (request: Request, env: HttpBindings): Promise<Response> => {
    const at = clock.now();
    const { pathname, search } = new URL(request.url);
    const presented = /^Api-Key (.+)$/.exec(request.headers.get('Authorization') ?? '')?.[1];
    const response = await disturb(
      Object.fromEntries(request.headers),
      faults.hit(pathname),
      faults.skew(),
      () => Promise.resolve(app.fetch(request, env)),
      env.outgoing,
      // Closing ends the wait; the connection is gone by then.
      (ms) => clock.sleep(ms, stopping.signal).catch(() => undefined),
      stopping.signal,
    );
    const record: SandboxRequest = {
      at,
      key: presented === undefined ? null : new Secret(presented).fingerprint(),
      method: request.method,
      path: pathname + search,
      status: response.headers.has(UNANSWERED) ? 0 : response.status,
    };
    requests.push(record);
    if (requests.length > KEPT_REQUESTS) requests.shift();
    log.info('Answered', { path: record.path, status: record.status, ms: clock.now() - at });
    return response;
  };

  const server = createAdaptorServer({
    fetch: (request, env) => fetch(request, env as HttpBindings),
    overrideGlobalObjects: false,
  });
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
