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

/** What a mail server does: always, or with its nth message from 0. */
export type MailScript = SmtpScript | ((message: number) => SmtpScript);

/** A mail server whose behaviour is changed while it runs. */
export interface MailServer extends ScriptedSmtp {
  script: MailScript;
}

/** Everything of a deployment that incidents happen to: Docket, Redis, the service and a mail server for each organization. */
export interface IncidentDeployment {
  readonly folder: string;
  readonly redis: RestartableRedis;
  readonly sandbox: Sandbox;
  /** `docket start` with these roles. @param env of this process alone */
  start(roles?: string, env?: Env): Promise<RunningProcess & { readonly url: string }>;
  /** Steps the clocks of all processes and commands, e.g. `-25h`, `+90`. */
  setClock(offset: string): Promise<void>;
  /** Adds an organization with one report, `weekly`. */
  addOrg(id: string, options?: OrgOptions): Promise<MailServer>;
  /** Adds a token of this name, for all organizations. */
  addPerson(name: string): Promise<void>;
  /** Writes the key of an organization; `label` as in the sandbox. */
  setKey(org: string, label: string): Promise<void>;
  write(path: string, content: string): Promise<void>;
  /** Replaces the definition of `<org>/weekly`, and waits until the running processes have read it. */
  define(org: string, report: Parameters<typeof reportYaml>[1]): Promise<void>;
  /** The same for any `<org>/<report>`, with this text. */
  replace(report: string, content: string): Promise<void>;
  /** Asks for a run of `<org>/<report>`, by default `weekly`, as a person did before the incident. */
  trigger(org: string, report?: string): Promise<string>;
  /** What a minute does to runs whose worker was killed: the next worker that starts takes them over. */
  expireLocks(runs: readonly string[]): Promise<void>;
  /** Until the newest run of `<org>/weekly`, or of this `<org>/<report>`, is in one of these states. */
  runIn(org: string, ...states: RunState[]): Promise<RunRecord>;
  /** Until what the running processes say of themselves is so. */
  processes(what: string, wanted: (reports: readonly ProcessReport[]) => boolean): Promise<void>;
  /** A command on the machine that Docket runs on, without a terminal. */
  command(args: readonly string[], env?: Env): Promise<CliResult>;
  /** An operator at the terminal of the machine that Docket runs on. */
  terminal(env?: Env): TerminalOperator;
  /** The token of an operator for this organization alone, for `*` of one for all. */
  token(org: string): string;
  /** An operator before the page, signed in with this token. */
  page(org: string): Promise<PageOperator>;
  close(): Promise<void>;
}

export interface OrgOptions extends NonNullable<Parameters<typeof reportYaml>[1]> {
  /** More lines of `org.yaml`. */
  readonly org?: string;
  readonly mail?: MailScript;
  /** Label of its key in the sandbox. */
  readonly key?: string;
}

const POLL = { timeoutMs: 120_000, intervalMs: 50 };

/** @param env added to that of every process and command */
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
    // The log has only lines of JSON, and the terminal only what Docket says.
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
  // In this process, and before any other reads the file.
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
