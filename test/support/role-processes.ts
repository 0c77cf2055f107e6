import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { createMailCatcher } from '../../src/demo/mail-catcher.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { folderFor } from './delivery-case.ts';
import { docket } from './docket.ts';
import { freePort } from './free-port.ts';
import { hourlyFarFromNow } from './hourly-schedule.ts';
import { type RunningProcess, startDocket } from './running-docket.ts';

const ORG = `org: current
api_key: { env: ACME_KEY }
timezone: UTC
recipients: { domains: [acme.example] }
budget: { calls: 1000, window: 1 }
`;
const report = (cron: string) => `version: 1
title: Weekly
owner: owner@acme.example
schedule: { cron: "${cron}", timezone: UTC, catch_up: latest }
period: previous_week
sections: [{ id: open, metrics: [alerts.open] }]
outputs: [{ format: csv }]
deliveries:
  - email: { to: [lead@acme.example], attach: [csv] }
`;
const runSchema = z.looseObject({
  id: z.string(),
  state: z.string(),
  trigger: z.string(),
  attempts: z.number().optional(),
});
const readySchema = z.object({
  status: z.string(),
  checks: z.array(z.looseObject({ name: z.string(), ok: z.boolean() })),
});

/** A process with some roles, and its address. */
export interface RoleProcess extends RunningProcess {
  readonly url: string;
  /** The response of `/readyz`: the status and the names of the checks. */
  ready(): Promise<{ readonly status: string; readonly checks: readonly string[] }>;
}

/** Docket in several processes with one Redis, a service, a mail server and a report that is due every hour. */
export async function roleProcesses(redisUrl: string) {
  const root = await folderFor(onTestFinished);
  const sandbox = await startSandbox({ windowMs: 1 });
  const mail = await createMailCatcher(join(root, 'mailbox'));
  onTestFinished(async () => {
    await mail.close();
    await sandbox.close();
  });
  await mkdir(join(root, 'jobs', 'acme'), { recursive: true });
  await writeFile(join(root, 'jobs', 'acme', 'org.yaml'), ORG);
  await writeFile(join(root, 'jobs', 'acme', 'weekly.yaml'), report(hourlyFarFromNow().cron));
  const archive = pathToFileURL(join(root, 'archive')).href;
  /** The environment of a scheduler or an admin process. */
  const little = {
    REDIS_URL: redisUrl,
    DOCKET_JOBS: join(root, 'jobs'),
    DOCKET_ARCHIVE: archive,
    DOCKET_ADMIN_TOKENS: join(root, 'tokens.yaml'),
  };
  const much = {
    ...little,
    COMPLIANCE_API_URL: sandbox.url,
    ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
    SMTP_URL: mail.url,
    MAIL_FROM: 'reports@acme.example',
  };
  const { stdout } = await docket(['tokens', 'create', '--name', 'test', '--role', 'operator'], { env: little });
  const headers = { authorization: `Bearer ${stdout.trim()}`, 'content-type': 'application/json' };

  const open: RunningProcess[] = [];
  onTestFinished(async () => {
    await Promise.all(open.map((each) => each.kill()));
  });
  type Env = Readonly<Record<string, string>>;
  const startWith = async (more: Env, role: string, ...args: string[]): Promise<RoleProcess> => {
    const own = role.includes('worker') ? much : little;
    const env = { ...own, DOCKET_ADMIN_PORT: String(await freePort()), ...more };
    const child = startDocket(['--role', role, ...args], { env, cwd: root });
    open.push(child);
    const { url = '' } = await child.logged(({ msg }) => msg === 'Docket runs');
    return {
      ...child,
      url,
      ready: async () => {
        const { status, checks } = readySchema.parse(await (await fetch(`${url}/readyz`)).json());
        return { status, checks: checks.filter(({ ok }) => ok).map(({ name }) => name) };
      },
    };
  };

  return {
    root,
    mail,
    start: (role: string, ...args: string[]) => startWith({}, role, ...args),
    startWith,
    headers,
    command: (...args: string[]) => docket(args, { env: little, cwd: root }),
    commandWith: (env: Readonly<Record<string, string>>, ...args: string[]) =>
      docket(args, { env: { ...little, ...env }, cwd: root }),
    /** Triggers a run and returns its id. */
    trigger: async (admin: RoleProcess, key: string, more: Env = {}): Promise<string> => {
      const response = await fetch(`${admin.url}/api/reports/acme/weekly/runs`, {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': key, ...more },
        // The same week every time.
        body: '{"again":true}',
      });
      if (response.status !== 202) throw new Error(`${response.status}: ${await response.text()}`);
      return runSchema.parse(await response.json()).id;
    },
    /** The runs, without skipped slots. */
    runs: async () => {
      const { stdout: text } = await docket(['runs', '--json', '--limit', '500'], { env: little, cwd: root });
      const { runs } = z.object({ runs: z.array(runSchema) }).parse(JSON.parse(text));
      return runs.filter(({ state }) => state !== 'skipped');
    },
  };
}
