import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { localRedis } from '../../src/demo/local-redis.ts';
import { roleProcesses } from '../support/role-processes.ts';

const containerSchema = z.object({
  args: z.array(z.string()),
  env: z.array(z.object({ name: z.string(), value: z.string().optional() })),
});
const podSchema = z.object({
  spec: z.object({ template: z.object({ spec: z.object({ containers: z.tuple([containerSchema]) }) }) }),
});
const composeSchema = z.object({
  services: z.object({
    docket: z.object({ command: z.array(z.string()), environment: z.record(z.string(), z.string()) }),
  }),
});

/** The variables that decide who may read `/metrics`. The others name servers and folders of the deployment. */
const ACCESS = /^DOCKET_ADMIN_(HOST|NAMES|TRUSTED_PROXIES)$/;
const roleOf = (args: readonly string[]): string => args[args.indexOf('--role') + 1] ?? '';

async function settingsOf(file: string): Promise<{ readonly role: string; readonly env: Record<string, string> }> {
  const [document] = parseAllDocuments(await readFile(file, 'utf8')).map((each): unknown => each.toJS());
  const pod = podSchema.safeParse(document);
  const compose = pod.success ? undefined : composeSchema.parse(document).services.docket;
  const [container] = pod.data?.spec.template.spec.containers ?? [];
  const all =
    compose?.environment ?? Object.fromEntries((container?.env ?? []).map(({ name, value = '' }) => [name, value]));
  // Without tokens, `/metrics` would answer 401.
  expect(all, file).toHaveProperty('DOCKET_ADMIN_TOKENS');
  const env = Object.entries(all).filter(([name]) => ACCESS.test(name));
  const role = container === undefined ? 'worker,scheduler,admin' : roleOf(container.args);
  return {
    role,
    env: Object.fromEntries(env.map(([name, value]) => [name, value.replace(/\$\{[^}]*\}/, 'docket.example.com')])),
  };
}

/** Sends the request that Prometheus sends, with the name or address by which it finds the process. */
const scrape = (url: string, host: string, headers: Readonly<Record<string, string>>) =>
  new Promise<{ readonly status: number | undefined; readonly body: string }>((resolve, reject) => {
    request(`${url}/metrics`, { headers: { ...headers, host } }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode, body }));
    })
      .on('error', reject)
      .end();
  });

test.each([
  // Pods are found by their addresses.
  ['deploy/kubernetes/worker.yaml', '10.244.1.7:8787'],
  ['deploy/kubernetes/admin.yaml', '10.244.1.8:8787'],
  // A container beside it uses its name.
  ['deploy/compose/docker-compose.yml', 'docket:8787'],
  ['docker-compose.yml', 'docket:8787'],
])('%s lets Prometheus scrape metrics', async (file, host) => {
  const server = await localRedis({ PATH: process.env.PATH });
  onTestFinished(() => server.close());
  const deployment = await roleProcesses(server.url);
  const { role, env } = await settingsOf(file);
  const { url } = await deployment.startWith(env, role);
  const answer = await scrape(url.replace('0.0.0.0', '127.0.0.1'), host, {
    authorization: deployment.headers.authorization,
  });
  expect(answer.status, answer.body).toBe(200);
  expect(answer.body).toContain('docket_redis_up 1');
  for (const each of role.split(',')) expect(answer.body).toContain(`docket_processes{role="${each}"}`);
  expect((await scrape(url.replace('0.0.0.0', '127.0.0.1'), host, {})).status).toBe(401);
});
