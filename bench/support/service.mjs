import { Secret } from '../../dist-modules/base/secrets/secret.js';
import { createClient } from '../../dist-modules/fetch/client/compliance-client.js';
import { startSandbox } from '../../dist-modules/sandbox/sandbox.js';

/** The request of every call. The service has its response cached, so only the budget takes time. */
export const REQUEST = { metrics: ['profiles.created'], time: { from: '2026-01-01', to: '2026-01-31' } };

/**
 * Delays of 20 to 80 ms in steps of 20.
 *
 * @type {import('../../dist-modules/sandbox/sandbox.js').Fault[]}
 */
export const LATENCY = [
  { kind: 'latency', value: 20 },
  { kind: 'latency', value: 20, probability: 0.5 },
  { kind: 'latency', value: 40, probability: 0.5 },
];
export const LONGEST_MS = 80;

/** @type {(sandbox: import('../../dist-modules/sandbox/sandbox.js').Sandbox, label: string) => string} */
export const keyOf = (sandbox, label) => sandbox.keys.find((one) => one.label === label).key;

/**
 * A sandbox that has already computed its only response, and has counted nothing on `acme`, the key of the benchmarks.
 *
 * @param {import('../../dist-modules/sandbox/sandbox.js').SandboxOptions} options
 */
export async function startService(options) {
  const sandbox = await startSandbox({ faults: LATENCY, ...options });
  const other = createClient({ baseUrl: sandbox.url, key: new Secret(keyOf(sandbox, 'metrics')) });
  await other.report('current', REQUEST, new AbortController().signal);
  await other.close();
  const before = sandbox.requests().length;
  return {
    url: sandbox.url,
    key: keyOf(sandbox, 'acme'),
    requests: () => sandbox.requests().slice(before),
    close: () => sandbox.close(),
  };
}
