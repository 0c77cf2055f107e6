import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import type { Receipt } from '../../../src/deliver/ledger/ledger.ts';
import {
  definitionWith,
  folderFor,
  ORDER,
  SETTINGS,
  sealedRun,
  type TestDelivery,
} from '../../support/delivery-case.ts';
import { CHANNEL, SLACK_TOKEN, type SlackStep, slackServer } from '../../support/slack-server.ts';
import { teamsServer } from '../../support/teams-server.ts';

const CHILD = join(import.meta.dirname, '../../support/deliver-child.mjs');

/** A deployment in which processes of the built program make a delivery. */
async function deployment(delivery: TestDelivery, secrets: Record<string, string>) {
  const root = await folderFor(onTestFinished);
  await sealedRun(root, undefined, undefined, { headlines: ['Profiles created: 460'] });
  const redisUrl = inject('redisUrl');
  const redis = new Redis(redisUrl);
  const prefix = `test-killed-${randomUUID()}:`;
  onTestFinished(async () => {
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });
  const reported = JSON.stringify({
    archive: `file://${join(root, 'archive')}`,
    smtp: 'smtp://127.0.0.1:1',
    redis: redisUrl,
    prefix,
    order: ORDER,
    definition: definitionWith([delivery]),
    settings: { ...SETTINGS, allow_private: true },
  });
  /** Delivers in its own process. Resolves with the state of the delivery, or undefined if the process was killed. */
  return async (onStart: (kill: () => void) => void = () => {}): Promise<Receipt['state'] | undefined> => {
    const child = spawn(process.execPath, [CHILD, reported], {
      env: { ...process.env, ...secrets },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onStart(() => child.kill('SIGKILL'));
    const [output, [, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    return signal === 'SIGKILL' ? undefined : JSON.parse(output).receipts[0].state;
  };
}

const SLACK = { channel: CHANNEL, token: { env: 'TOKEN' }, body: 'summary' } as const;
const STEPS: readonly [files: boolean, step: SlackStep, when: 'before' | 'after', state: Receipt['state']][] = [
  [false, 'chat.postMessage', 'before', 'unknown'],
  [false, 'chat.postMessage', 'after', 'unknown'],
  [true, 'files.getUploadURLExternal', 'before', 'sent'],
  [true, 'files.getUploadURLExternal', 'after', 'sent'],
  [true, 'upload', 'before', 'sent'],
  [true, 'upload', 'after', 'sent'],
  [true, 'files.completeUploadExternal', 'before', 'unknown'],
  // Slack shows the files of the dead process.
  [true, 'files.completeUploadExternal', 'after', 'sent'],
  [true, 'files.info', 'before', 'sent'],
  [true, 'files.info', 'after', 'sent'],
];

test.each(STEPS)(
  'a Slack delivery (files: %s) killed at %s, %s it was done, ends %s and posts nothing twice',
  async (files, step, when, state) => {
    const server = await slackServer();
    onTestFinished(() => server.close());
    const deliverIn = await deployment({ slack: { ...SLACK, files, api_url: server.apiUrl } }, { TOKEN: SLACK_TOKEN });
    const killed = await deliverIn((kill) => {
      server.watch((at, moment) => {
        // Before the files are posted, `files.info` only checks the scope.
        if (at !== step || moment !== when || (step === 'files.info' && server.posted.length === 0)) return undefined;
        kill();
        return 'drop';
      });
    });
    expect(killed).toBeUndefined();
    server.watch(() => undefined);
    expect(await deliverIn()).toBe(state);
    // A request of the dead process that never arrived is unknown as well, because Docket cannot know.
    expect(server.posted).toHaveLength(state === 'sent' || when === 'after' ? 1 : 0);
  },
);

test.each(['before', 'after'] as const)(
  'a Teams delivery killed %s the workflow has posted is unknown and posts nothing twice',
  async (when) => {
    const server = await teamsServer();
    onTestFinished(() => server.close());
    const deliverIn = await deployment({ teams: { url: { env: 'FLOW' }, body: 'summary' } }, { FLOW: server.url });
    const killed = await deliverIn((kill) => {
      server.watch((moment) => {
        if (moment !== when) return undefined;
        kill();
        return 'drop';
      });
    });
    expect(killed).toBeUndefined();
    server.watch(() => undefined);
    expect(await deliverIn()).toBe('unknown');
    expect(server.posted).toHaveLength(when === 'after' ? 1 : 0);
  },
);
