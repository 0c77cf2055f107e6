import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { docket } from '../support/docket.ts';
import { type RestartableRedis, restartableRedis } from '../support/restartable-redis.ts';
import { type RunningProcess, startDocket } from '../support/running-docket.ts';

describe('while Redis is frozen', () => {
  let folder: string;
  let redis: RestartableRedis;
  let running: RunningProcess;
  let url: string;
  let token: string;
  let cookie: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-frozen-'));
    redis = await restartableRedis();
    const env = {
      REDIS_URL: redis.url,
      DOCKET_ADMIN_TOKENS: join(folder, 'tokens.yaml'),
      DOCKET_JOBS: join(process.cwd(), 'jobs'),
      DOCKET_ARCHIVE: `file://${folder}/archive`,
      DOCKET_ADMIN_PORT: '0',
    };
    token = (await docket(['tokens', 'create', '--name', 'anna', '--role', 'operator'], { env })).stdout.trim();
    running = startDocket(['--role', 'admin'], { env, cwd: folder });
    url = (await running.logged(({ msg }) => msg === 'Docket runs')).url ?? '';
    const signedIn = await fetch(`${url}/sign-in`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ token }),
      redirect: 'manual',
    });
    cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  });
  afterAll(async () => {
    redis.thaw();
    await running.stop();
    await redis.close();
    await rm(folder, { recursive: true, force: true });
  });

  const page = async (path: string) => {
    const answer = await fetch(url + path, { headers: { cookie, accept: 'text/html' }, redirect: 'manual' });
    const problem = /data-problem="([^"]+)"/.exec(await answer.text())?.[1];
    return [path, answer.status, problem];
  };
  const api = async (path: string) => {
    const answer = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
    const { code } = (await answer.json()) as { code?: string };
    return [path, answer.status, code];
  };

  it('pages and the API answer 503, and recover afterwards', async () => {
    const run = 'a'.repeat(32);
    expect(await page('/')).toEqual(['/', 200, undefined]);
    redis.freeze();
    for (const path of ['/', '/runs', `/runs/${run}`, '/runs/aaaaaaaa', '/deliveries']) {
      expect(await page(path)).toEqual([path, 503, 'redis.unreachable']);
    }
    for (const path of ['/api/runs', `/api/runs/${run}`, '/api/runs/aaaaaaaa', `/api/runs/${run}/events`]) {
      expect(await api(path)).toEqual([path, 503, 'redis.unreachable']);
    }
    redis.thaw();
    expect(await page('/')).toEqual(['/', 200, undefined]);
    expect(await api('/api/runs')).toEqual(['/api/runs', 200, undefined]);
  });
});
