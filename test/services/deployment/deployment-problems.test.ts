import { Redis } from 'ioredis';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import {
  type DeploymentFacts,
  evaluateDeployment,
  findDeploymentProblems,
} from '../../../src/services/deployment/deployment-problems.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const NOW = Date.parse('2026-11-21T13:12:00Z');
const MINUTE = 60_000;
const WELL: DeploymentFacts = {
  now: NOW,
  workers: 2,
  heartbeat: { at: NOW - MINUTE, stuck: null },
  memory: { usedBytes: 80, limitBytes: 100 },
  skewMs: 2_000,
};
const codes = (change: Partial<DeploymentFacts>) => evaluateDeployment({ ...WELL, ...change }).map(({ code }) => code);

describe('problems of a deployment', () => {
  test('none while everything works, and at each limit', () => {
    expect(codes({})).toEqual([]);
    expect(codes({ heartbeat: { at: NOW - 3 * MINUTE, stuck: NOW - 5 * MINUTE }, skewMs: -30_000 })).toEqual([]);
    expect(codes({ memory: { usedBytes: 900, limitBytes: 0 } })).toEqual([]);
    expect(codes({ memory: null })).toEqual([]);
  });

  test.each<[Partial<DeploymentFacts>, string[]]>([
    [{ workers: 0 }, ['worker.none']],
    [{ heartbeat: null }, ['scheduler.none']],
    [{ heartbeat: { at: NOW - 3 * MINUTE - 1, stuck: null } }, ['scheduler.none']],
    [{ heartbeat: { at: NOW, stuck: NOW - 5 * MINUTE - 1 } }, ['slot.stuck']],
    // Without a scheduler a slot that is stuck is its smallest problem.
    [{ heartbeat: { at: NOW - 60 * MINUTE, stuck: NOW - 90 * MINUTE } }, ['scheduler.none']],
    [{ memory: { usedBytes: 90, limitBytes: 100 } }, ['redis.memory']],
    [{ skewMs: 30_001 }, ['clock.skew']],
    [{ skewMs: -30_001 }, ['clock.skew']],
    [{ writeFailure: 'Redis accepts no writes.' }, ['redis.writes']],
    [{ writeFailure: 'Redis is full.', memory: { usedBytes: 100, limitBytes: 100 } }, ['redis.writes']],
    [
      { workers: 0, heartbeat: null, skewMs: 60_000, writeFailure: 'Redis is full.' },
      ['redis.writes', 'clock.skew', 'worker.none', 'scheduler.none'],
    ],
  ])('%j: %j, each with what to do', (change, expected) => {
    expect(codes(change)).toEqual(expected);
    for (const { message, next } of evaluateDeployment({ ...WELL, ...change })) {
      expect(message).toMatch(/\.$/);
      expect(next).toMatch(/^[A-Z].*\.$/);
    }
  });

  test('are read from Redis and from the checks of this process', async () => {
    const redis = new Redis(inject('redisUrl'));
    onTestFinished(() => redis.disconnect());
    const prefix = randomPrefix();
    const find = (ok: boolean, skewMs = 0) =>
      findDeploymentProblems({
        redis,
        prefix,
        clock: { ...systemClock, now: () => Date.now() - skewMs },
        health: async () => [{ name: 'redis_writes', ok, detail: 'Redis accepts no writes.' }],
      });
    const found = async (...given: Parameters<typeof find>) => (await find(...given)).map(({ code }) => code);
    expect(await found(true)).toEqual(['worker.none', 'scheduler.none']);
    expect(await found(false, 60_000)).toEqual(['redis.writes', 'clock.skew', 'worker.none', 'scheduler.none']);
  });
});
