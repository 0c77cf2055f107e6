import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { z } from 'zod';
import { silentLog } from '../../../src/base/log.ts';
import { RUN_QUEUE_NAME } from '../../../src/queue/bullmq.ts';
import { type ProcessReport, redisProcessReports } from '../../../src/queue/process-reports.ts';
import { redisRunStore } from '../../../src/queue/runs/run-store.ts';
import { openRedis } from '../../../src/redis/connection.ts';
import { DEFAULT_KEY_PREFIX, redisKeys } from '../../../src/redis/keys.ts';
import type { RunRecord, RunState } from '../../../src/run/run-record.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { openChromium, visitor } from '../browser.ts';
import { type CliResult, docket } from '../docket.ts';
import { freePort } from '../free-port.ts';
import { libfaketime } from '../libfaketime.ts';
import { type RestartableRedis, restartableRedis } from '../restartable-redis.ts';
import { runCommand } from '../run-command.ts';
import { type RunningProcess, startDocket } from '../running-docket.ts';
import { type ScriptedSmtp, type SmtpScript, scriptedSmtp } from '../smtp-script.ts';
import { waitFor } from '../wait-for.ts';
import { orgYaml, reportYaml } from './definitions.ts';
import { type PageOperator, pageOperator } from './page-operator.ts';
import { type TerminalOperator, terminalOperator } from './terminal-operator.ts';

type Env = Readonly<Record<string, string>>;

/** The behaviour of a mail server: always, or for the nth message from 0. */
export type MailScript = SmtpScript | ((message: number) => SmtpScript);

/** A mail server whose behaviour can change while it runs. */
export interface MailServer extends ScriptedSmtp {
  script: MailScript;
}

/** A deployment that incidents happen to: Docket, Redis, the service and a mail server per organization. */
export interface IncidentDeployment {
  readonly folder: string;
  readonly redis: RestartableRedis;
  readonly sandbox: Sandbox;
  /** Starts `docket start` with these roles. @param env for this process only */
  start(roles?: string, env?: Env): Promise<RunningProcess & { readonly url: string }>;
  /** Steps the clocks of all processes and commands, such as `-25h` or `+90`. */
  setClock(offset: string): Promise<void>;
  /** Adds an organization with one report, `weekly`. */
  addOrg(id: string, options?: OrgOptions): Promise<MailServer>;
  /** Adds a token with this name for all organizations. */
  addPerson(name: string): Promise<void>;
  /** Writes the key of an organization. `label` is that of the sandbox. */
  setKey(org: string, label: string): Promise<void>;
  write(path: string, content: string): Promise<void>;
  /** Replaces the definition of `<org>/weekly`, and waits until the running processes have loaded it. */
  define(org: string, report: Parameters<typeof reportYaml>[1]): Promise<void>;
  /** Replaces the text of any `<org>/<report>`, and waits in the same way. */
  replace(report: string, content: string): Promise<void>;
  /** Triggers a run of `<org>/<report>`, by default `weekly`. */
  trigger(org: string, report?: string): Promise<string>;
  /** Expires the locks of runs whose worker was killed, so that the next worker takes them over immediately. */
  expireLocks(runs: readonly string[]): Promise<void>;
  /** Waits until the newest run of `<org>/weekly`, or of this `<org>/<report>`, is in one of these states. */
  runIn(org: string, ...states: RunState[]): Promise<RunRecord>;
  /** Waits until the reports of the running processes match. */
  processes(what: string, wanted: (reports: readonly ProcessReport[]) => boolean): Promise<void>;
  /** Runs a command on Docket's machine, without a terminal. */
  command(args: readonly string[], env?: Env): Promise<CliResult>;
  /** An operator at a terminal of Docket's machine. */
  terminal(env?: Env): TerminalOperator;
  /** The token of an operator of this organization, or of all for `*`. */
  token(org: string): string;
  /** An operator who is signed in to the page with this token. */
  page(org: string): Promise<PageOperator>;
  close(): Promise<void>;
}

export interface OrgOptions extends NonNullable<Parameters<typeof reportYaml>[1]> {
  /** More lines of `org.yaml`. */
  readonly org?: string;
  readonly mail?: MailScript;
  /** The label of its key in the sandbox. */
  readonly key?: string;
}

const POLL = { timeoutMs: 120_000, intervalMs: 50 };

/** @param env added to the environment of every process and command */
export async function incidentDeployment(env: (folder: string) => Env = () => ({})): Promise<IncidentDeployment> {
  const folder = await mkdtemp(join(tmpdir(), 'docket-incidents-'));
  const [preload, redis, sandbox] = await Promise.all([
    libfaketime(),
    restartableRedis(),
    startSandbox({ windowMs: 1 }),
  ]);
  const clock = join(folder, 'clock');
  await writeFile(clock, '+0');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const client = await openRedis(redis.url, 'worker', silentLog);
  const store = redisRunStore(client, { prefix: DEFAULT_KEY_PREFIX, keepDays: 90 });
  const reports = redisProcessReports(client, { prefix: DEFAULT_KEY_PREFIX });
  const processes: RunningProcess[] = [];
  const servers: ScriptedSmtp[] = [];
  let browser: Promise<Browser> | undefined;
  const tokens = new Map<string, string>();

  const all: Env = {
    LD_PRELOAD: preload,
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: '1',
    DONT_FAKE_MONOTONIC: '1',
    // The log must contain only JSON, and the terminal only output of Docket.
    NODE_NO_WARNINGS: '1',
    COMPLIANCE_API_URL: sandbox.url,
    REDIS_URL: redis.url,
    DOCKET_JOBS: join(folder, 'jobs'),
    DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
    DOCKET_ADMIN_TOKENS: join(folder, 'tokens.yaml'),
    ...env(folder),
  };
  const write: IncidentDeployment['write'] = async (path, content) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  };
  const setKey: IncidentDeployment['setKey'] = async (org, label) => {
    const key = sandbox.keys.find((each) => each.label === label)?.key;
    if (key === undefined) throw new Error(`The sandbox has no key ${label}.`);
    await write(`secrets/${org}.key`, key);
  };
  // In this process, before any other process reads the file.
  const createToken = async (name: string, ...more: string[]): Promise<string> => {
    const args = ['tokens', 'create', '--name', name, '--role', 'operator', ...more];
    const ended = await runCommand(args, { env: { DOCKET_ADMIN_TOKENS: all.DOCKET_ADMIN_TOKENS } });
    if (ended.code !== 0) throw new Error(ended.stderr);
    return ended.stdout.trim();
  };
  const testToken = await createToken('test');
  tokens.set('*', testToken);
  const ask = async (path: string, options: RequestInit = {}): Promise<Response> => {
    const headers = { authorization: `Bearer ${testToken}`, 'content-type': 'application/json' };
    return fetch(url + path, { ...options, headers });
  };

  const replace: IncidentDeployment['replace'] = async (report, content) => {
    await write(`jobs/${report}.yaml`, content);
    for (const process of processes) process.reload();
    await waitFor(
      `the definition of ${report}`,
      async () => {
        const answer = await ask(`/api/reports/${report}`);
        return z.looseObject({ text: z.string().nullable() }).parse(await answer.json()).text === content;
      },
      POLL,
    );
  };

  return {
    folder,
    redis,
    sandbox,
    write,
    setKey,
    setClock: (offset) => writeFile(clock, offset),
    start: async (roles = 'all', more = {}) => {
      const own = roles.includes('admin') || roles === 'all' ? port : await freePort();
      const started = startDocket(['--role', roles], {
        env: { ...all, DOCKET_ADMIN_PORT: String(own), ...more },
        cwd: folder,
      });
      processes.push(started);
      await started.logged(({ msg }) => msg === 'Docket runs');
      return { ...started, url };
    },
    addOrg: async (id, { org, mail = {}, key = 'acme', ...report } = {}) => {
      const state = { script: mail };
      const server = await scriptedSmtp((_, message) =>
        typeof state.script === 'function' ? state.script(message) : state.script,
      );
      servers.push(server);
      await setKey(id, key);
      tokens.set(id, await createToken(`night-${id}`, '--org', id));
      await write(`secrets/${id}.smtp`, server.url);
      await write(`jobs/${id}/org.yaml`, orgYaml(id, folder, org));
      await write(`jobs/${id}/weekly.yaml`, reportYaml(id, report));
      return Object.assign(state, server);
    },
    addPerson: async (name) => void tokens.set(name, await createToken(name)),
    define: (org, report) => replace(`${org}/weekly`, reportYaml(org, report)),
    replace,
    trigger: async (org, report = 'weekly') => {
      const response = await ask(`/api/reports/${org}/${report}/runs`, { method: 'POST', body: '{"again":true}' });
      if (response.status !== 202) throw new Error(`${response.status}: ${await response.text()}`);
      return z.object({ id: z.string() }).parse(await response.json()).id;
    },
    expireLocks: async (runs) => {
      const queue = `${redisKeys(DEFAULT_KEY_PREFIX).bull}:${RUN_QUEUE_NAME}`;
      for (const run of runs) {
        await client.del(`${queue}:${run}:lock`);
        await client.sadd(`${queue}:stalled`, run);
      }
      await client.del(`${queue}:stalled-check`);
    },
    runIn: (org, ...states) =>
      waitFor(
        `the run of ${org} to be ${states.join(' or ')}`,
        async () => {
          const [whose = '', report = 'weekly'] = org.split('/');
          const [run] = await store.list({ org: whose, report, limit: 1 });
          return run !== undefined && states.includes(run.state) ? run : undefined;
        },
        POLL,
      ),
    processes: async (what, wanted) =>
      void (await waitFor(what, async () => wanted(await reports.list()) || undefined, POLL)),
    command: (args, more = {}) => docket(args, { env: { PATH: process.env.PATH ?? '', ...all, ...more }, cwd: folder }),
    terminal: (more = {}) => terminalOperator({ env: () => ({ ...all, ...more }), cwd: folder }),
    token: (org) => tokens.get(org) ?? '',
    page: async (org) => {
      browser ??= openChromium();
      const { page } = await visitor(await browser, { viewport: { width: 1280, height: 900 } });
      await page.goto(url);
      await page.getByLabel('Token').fill(tokens.get(org) ?? '');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('link', { name: 'Overview' }).waitFor();
      return pageOperator(page, url);
    },
    close: async () => {
      await (await browser)?.close();
      redis.thaw();
      await Promise.all(processes.map((process) => process.kill()));
      await Promise.all(servers.map((server) => server.close()));
      client.disconnect();
      await sandbox.close();
      await redis.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
