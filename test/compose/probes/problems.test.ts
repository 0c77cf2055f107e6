import { Redis } from 'ioredis';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { findProblems } from '../../../src/compose/probes/probes.ts';
import { evaluateMemory } from '../../../src/compose/probes/redis.ts';
import { evaluateHeartbeat, evaluateWorkers } from '../../../src/compose/probes/schedules.ts';
import { type CheckResult, toProblems } from '../../../src/services/deployment/probe.ts';
import { jobsFolder, ORG } from '../../support/jobs-folder.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const NOW = Date.parse('2026-11-21T13:12:00Z');
const MINUTE = 60_000;
const memory = (usedBytes: number, limitBytes: number, failure?: string) =>
  evaluateMemory({ usedBytes, limitBytes }, failure);
const heartbeat = (age: number, stuck: number | null = null) =>
  evaluateHeartbeat({ at: NOW - age, stuck: stuck === null ? null : NOW - stuck }, NOW);

describe('problems of a deployment', () => {
  test.each<[string | undefined, CheckResult | undefined]>([
    [undefined, heartbeat(3 * MINUTE, 5 * MINUTE)],
    ['scheduler.none', heartbeat(3 * MINUTE + 1)],
    ['scheduler.none', evaluateHeartbeat(null, NOW)],
    ['slot.stuck', heartbeat(0, 5 * MINUTE + 1)],
    // Without a scheduler a stuck slot is not reported as well.
    ['scheduler.none', heartbeat(60 * MINUTE, 90 * MINUTE)],
    [undefined, evaluateMemory(null)],
    [undefined, memory(900, 0)],
    [undefined, memory(89, 100)],
    ['redis.memory', memory(90, 100)],
    ['redis.memory', memory(100, 100)],
    ['redis.writes', memory(100, 100, 'Redis is full.')],
    [undefined, evaluateWorkers(1, true)],
    [undefined, evaluateWorkers(0, false)],
    ['worker.none', evaluateWorkers(0, true)],
  ])('include %s for the result %j', (code, result) => {
    const problems = result === undefined ? [] : toProblems(result);
    expect(problems.map((problem) => problem.code)).toEqual(code === undefined ? [] : [code]);
    for (const { message, next } of problems) {
      expect(message).toMatch(/^[A-Z].*[^.]\.$/);
      expect(next).toMatch(/^[A-Z].*\.$/);
    }
  });

  test('are read from Redis, the most urgent first', async () => {
    const redis = new Redis(inject('redisUrl'));
    onTestFinished(() => redis.disconnect());
    const jobs = await loadDefinitions(await jobsFolder({ 'acme/org.yaml': ORG }));
    const found = async (writeFailure?: string, skewMs = 0) => {
      const clock = { ...systemClock, now: () => Date.now() - skewMs };
      const problems = await findProblems({ redis, prefix: randomPrefix(), clock, jobs, started: true, writeFailure });
      return problems.map(({ code }) => code);
    };
    expect(await found()).toEqual(['scheduler.none', 'worker.none']);
    expect(await found('Redis accepts no writes.', 30_500)).toEqual([
      'redis.writes',
      'clock.skew',
      'scheduler.none',
      'worker.none',
    ]);
  });
});
