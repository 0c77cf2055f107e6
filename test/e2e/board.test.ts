import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLog } from '../../src/base/log.ts';
import { runQueue } from '../../src/queue/jobs/run-queue.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { DEFAULT_KEY_PREFIX } from '../../src/redis/keys.ts';
import { openChromium, visitor } from '../support/browser.ts';
import { docket } from '../support/docket.ts';
import { freePort } from '../support/free-port.ts';
import { anOrder } from '../support/queue-harness.ts';
import { type RestartableRedis, restartableRedis } from '../support/restartable-redis.ts';
import { type RunningProcess, startDocket } from '../support/running-docket.ts';

describe('Bull Board in a browser', () => {
  const order = anOrder();
  let folder: string;
  let redis: RestartableRedis;
  let process: RunningProcess;
  let browser: Browser;
  let url: string;
  let token: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-board-'));
    redis = await restartableRedis();
    await mkdir(join(folder, 'jobs'));
    const env = {
      COMPLIANCE_API_URL: 'http://127.0.0.1:9',
      REDIS_URL: redis.url,
      DOCKET_JOBS: join(folder, 'jobs'),
      DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
      DOCKET_ADMIN_TOKENS: join(folder, 'tokens.yaml'),
      DOCKET_ADMIN_PORT: String(await freePort()),
      DOCKET_ADMIN_BULL_BOARD: 'on',
    };
    const made = await docket(['tokens', 'create', '--name', 'ben', '--role', 'viewer'], { env, cwd: folder });
    token = made.stdout.trim();
    // No worker runs, so the job stays in the queue.
    process = startDocket(['--role', 'admin'], { env, cwd: folder });
    url = (await process.logged(({ msg }) => msg === 'Docket runs')).url ?? '';
    const client = await openRedis(redis.url, 'producer', silentLog);
    const queue = runQueue(client, { prefix: DEFAULT_KEY_PREFIX });
    await queue.enqueue(order);
    await queue.close();
    client.disconnect();
    browser = await openChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await process?.stop();
    await redis?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('shows waiting runs, changes nothing, and loads no third-party assets', async () => {
    const { context, page, seen } = await visitor(browser, { viewport: { width: 1280, height: 900 } });
    const came: string[] = [];
    const methods = new Set<string>();
    page.on('requestfinished', (request) => came.push(request.url()));
    await page.goto(`${url}/queues`);
    await page.getByLabel('Token').fill(token);
    page.on('request', (request) => methods.add(request.method()));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${url}/queues`);
    await page.getByRole('link', { name: 'runs' }).first().click();
    await page.waitForURL(/\/queues\/queue\/runs/);
    await page.getByText(order.id).first().waitFor();
    await page.getByText(order.org).first().waitFor();
    expect(await page.getByRole('button', { name: /retry|promote|clean|remove|delete/i }).count()).toBe(0);

    // Open the page of the job directly.
    await page.goto(`${url}/queues/queue/runs/${order.id}`);
    await page.getByText(order.id).first().waitFor();
    await page
      .getByRole('button', { name: 'Options' })
      .or(page.getByRole('tab', { name: 'Options' }))
      .click();
    await page.getByText('removeOnFail').first().waitFor();
    await page.goto(url);
    await page.getByRole('link', { name: 'Queues' }).click();
    await page.waitForURL(`${url}/queues`);

    expect(came.filter((address) => !address.startsWith(url) && !/^(data|blob):/.test(address))).toEqual([]);
    expect([...methods].sort()).toEqual(['GET', 'POST']);
    expect(seen.errors.filter((text) => !text.includes('https://fonts.googleapis.com/'))).toEqual([]);
    await context.close();
  });
});
