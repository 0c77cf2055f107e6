import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addToken } from '../admin/auth/token-file.ts';
import { createMetrics } from '../admin/metrics/process-metrics.ts';
import type { AppContext } from '../base/context.ts';
import type { Scope } from '../base/scope.ts';
import { composeAdmin, expectedSeries, processInfo } from '../compose/admin.ts';
import type { RunningDocket } from '../compose/docket.ts';
import type { DefinitionSource } from '../definitions/load/definition-source.ts';
import { freePort } from './local-redis.ts';

/** The people of the demo: keys of `people` in its `org.yaml`. Each has a token with the same name. */
const DEMO_PEOPLE = ['analyst', 'mlro'] as const;
export type DemoPerson = (typeof DEMO_PEOPLE)[number];

export interface DemoSignIn {
  /** The future address of the page. */
  readonly url: string;
  /** Tokens of the people, for the API and the sign-in to the page. */
  readonly tokens: Readonly<Record<DemoPerson, string>>;
  /** Environment variables for the page. */
  readonly env: Readonly<Record<string, string>>;
}

/** Creates tokens for the people of the demo, in a folder that is deleted with the scope. */
export async function demoSignIn(scope: Scope): Promise<DemoSignIn> {
  const folder = scope.use(await mkdtemp(join(tmpdir(), 'docket-demo-')), (made) =>
    rm(made, { recursive: true, force: true }),
  );
  const file = join(folder, 'tokens.yaml');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const orgs = ['demo'];
  const tokens = {
    analyst: await addToken(file, { name: 'analyst', role: 'operator', orgs }),
    // An approver needs only the role viewer.
    mlro: await addToken(file, { name: 'mlro', role: 'viewer', orgs }),
  };
  const env = { DOCKET_ADMIN_TOKENS: file, DOCKET_ADMIN_PORT: String(port), DOCKET_PUBLIC_URL: url };
  return { url, tokens, env };
}

/**
 * Opens the page and the API of the demo, until the scope closes. @param context includes the variables of `demoSignIn`
 */
export async function openDemoPage(
  context: AppContext,
  jobs: DefinitionSource,
  running: RunningDocket,
  scope: Scope,
): Promise<void> {
  const metrics = createMetrics(expectedSeries(jobs.current()), processInfo(context, { keeps: true }));
  scope.add(await composeAdmin(context, jobs, running, metrics, { api: true }));
}
