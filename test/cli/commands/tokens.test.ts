import { chown, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { DEFAULT_KEY_PREFIX } from '../../../src/redis/keys.ts';
import { redisAuditLog } from '../../../src/services/audit-log.ts';
import { type RunningCommand, runCommand, startCommand } from '../../support/run-command.ts';

describe('docket tokens', () => {
  let folder: string;
  let env: Record<string, string>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-tokens-'));
    env = { DOCKET_ADMIN_TOKENS: join(folder, 'tokens.yaml') };
  });
  afterAll(() => rm(folder, { recursive: true }));
  const tokens = (...args: string[]) => runCommand(['tokens', ...args], { env });

  it('lists tokens without the tokens themselves and their hashes', async () => {
    const made = await tokens('create', '--name', 'ci', '--role', 'operator', '--org', 'acme', '--expires', '90d');
    expect(made.stdout).toMatch(/^docket_[\w-]{43}\n$/);
    await tokens('create', '--name', 'prometheus', '--expires', '2999-12-31');
    const listed = await tokens('list', '--json');
    const inNinetyDays = new Date(Date.now() + 90 * 86_400_000).toISOString().slice(0, 10);
    const ci = { name: 'ci', role: 'operator', organizations: ['acme'], expired: false };
    expect(JSON.parse(listed.stdout)).toEqual({
      tokens: [
        { ...ci, expires: inNinetyDays },
        { name: 'prometheus', role: 'viewer', organizations: '*', expires: '2999-12-31', expired: false },
      ],
    });
    const table = await tokens('list');
    expect(table.stdout).toMatch(/^NAME +ROLE +ORGANIZATIONS +LAST DAY\nci +operator +acme +20/);
    const [hash = 'none'] = /[0-9a-f]{64}/.exec(await readFile(env.DOCKET_ADMIN_TOKENS ?? '', 'utf8')) ?? [];
    for (const { stdout, stderr } of [listed, table]) {
      expect(stdout + stderr).not.toContain(hash);
      expect(stdout + stderr).not.toContain(made.stdout.trim());
    }
  });

  it('rejects the name that Docket uses for its own decisions', async () => {
    expect(await tokens('create', '--name', 'docket')).toMatchObject({ code: 2, stdout: '' });
  });

  it.each(['2020-01-01', '0d', '2027-02-30', 'soon', '-5d'])('rejects --expires %s', async (expires) => {
    const ended = await tokens('create', '--name', 'late', `--expires=${expires}`);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain('--expires');
  });

  it.each(['create', 'list', 'revoke'])(
    '%s without DOCKET_ADMIN_TOKENS suggests a command that works',
    async (command) => {
      const place = await mkdtemp(join(folder, 'new-'));
      const bare = { env: {}, cwd: place };
      const given = { create: ['--name', 'first'], list: [], revoke: ['first'] }[command] ?? [];
      const ended = await runCommand(['tokens', command, ...given], bare);
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(ended.stderr).toContain('[config.invalid]');
      const [, name = '', value = '', rest = ''] = /`(\w+)=(\S+) docket ([^`]+)`/.exec(ended.stderr) ?? [];
      const reported = await runCommand(rest.split(' '), { env: { [name]: value }, cwd: place });
      expect({ name, rest, code: reported.code }).toEqual({
        name: 'DOCKET_ADMIN_TOKENS',
        rest: expect.stringMatching(/^tokens create /),
        code: 0,
      });
      const listed = await runCommand(['tokens', 'list', '--json'], { env: { [name]: value }, cwd: place });
      expect(JSON.parse(listed.stdout).tokens).toHaveLength(1);
    },
  );

  it.runIf(process.getuid?.() === 0)(
    'makes a file that root creates readable to the owner of its folder, or its group',
    async () => {
      const [NOBODY, GROUP] = [65_534, 4_711];
      const made = async (uid: number, gid: number) => {
        const place = await mkdtemp(join(folder, 'owned-'));
        await chown(place, uid, gid);
        const path = join(place, 'tokens.yaml');
        const create = (name: string) =>
          runCommand(['tokens', 'create', '--name', name], { env: { DOCKET_ADMIN_TOKENS: path } });
        expect((await create('one')).code).toBe(0);
        expect((await create('two')).code).toBe(0);
        const { uid: owner, gid: group, mode } = await stat(path);
        return [owner, group, mode & 0o777];
      };
      expect(await made(NOBODY, GROUP)).toEqual([NOBODY, GROUP, 0o600]);
      expect(await made(0, GROUP)).toEqual([0, GROUP, 0o640]);
      expect(await made(0, 0)).toEqual([0, 0, 0o600]);
    },
  );

  it('fails to revoke an unknown token', async () => {
    const ended = await tokens('revoke', 'nobody');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain('"nobody"');
  });

  describe('while an admin process runs', () => {
    let running: RunningCommand;
    let url: string;
    let redis: Redis;
    beforeAll(async () => {
      redis = new Redis(inject('redisUrl'));
      await tokens('create', '--name', 'first');
      env = {
        ...env,
        REDIS_URL: inject('redisUrl'),
        DOCKET_JOBS: join(process.cwd(), 'jobs'),
        DOCKET_ARCHIVE: `file://${folder}/archive`,
        DOCKET_ADMIN_PORT: '0',
      };
      running = startCommand(['--role', 'admin'], { env, cwd: folder });
      url = (await running.logged(({ msg }) => msg === 'Docket runs')).url ?? '';
    });
    afterAll(async () => {
      await running.stop();
      await redis.quit();
    });

    it('accepts a new token within seconds, and rejects a revoked token and its session', async () => {
      const token = (await tokens('create', '--name', 'short', '--by', 'ann')).stdout.trim();
      const headers = { authorization: `Bearer ${token}` };
      const statusOf = async (given: Readonly<Record<string, string>>) =>
        (await fetch(`${url}/api/runs`, { headers: given })).status;
      const status = () => statusOf(headers);
      await untilStatus(status, 200);
      const signedIn = await fetch(`${url}/sign-in`, {
        method: 'POST',
        headers: { 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams({ token }),
        redirect: 'manual',
      });
      const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
      expect(await statusOf({ cookie })).toBe(200);
      await tokens('revoke', 'short', '--by', 'ann');
      // 429 as well: before the token was accepted, its requests counted as guesses.
      await untilStatus(async () => ((await status()) === 200 ? 200 : 401), 401);
      expect(await statusOf({ cookie })).toBe(401);
      await running.logged((line) => line.msg === 'Token removed' && line.who === 'short');
    });

    it('records both changes in the audit log', async () => {
      const audit = redisAuditLog(redis, { prefix: DEFAULT_KEY_PREFIX, clock: systemClock, log: silentLog });
      const { entries } = await audit.list({ orgs: [], includeGlobal: true, who: 'ann', limit: 10 });
      expect(entries.map(({ event, why }) => [event, why])).toEqual([
        ['token.revoked', 'short: viewer'],
        ['token.created', 'short: viewer of all organizations'],
      ]);
    });
  });
});

async function untilStatus(ask: () => Promise<number>, wanted: number): Promise<void> {
  await expect.poll(ask, { interval: 100 }).toBe(wanted);
}
