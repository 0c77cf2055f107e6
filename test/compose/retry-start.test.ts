import { expect, test } from 'vitest';
import { DocketError, type ErrorCode } from '../../src/base/error.ts';
import { BUSY_MACHINE, REDIS_OUTAGE, retryStart } from '../../src/compose/start.ts';
import { manualClock } from '../support/manual-clock.ts';
import { recordingLog } from '../support/queue-harness.ts';

const failing = (...codes: (ErrorCode | Error)[]) => {
  const left = [...codes];
  return async () => {
    const next = left.shift();
    if (next === undefined) return 'opened';
    throw typeof next === 'string' ? new DocketError(next, next) : next;
  };
};

test.each([
  [REDIS_OUTAGE, ['redis.unreachable', 'redis.unwritable', 'redis.out_of_memory', new Error('Connection is closed.')]],
  [BUSY_MACHINE, ['definition.busy', 'definition.busy']],
] as const)('a start waits while a failure is temporary, and logs it once', async (failure, codes) => {
  const clock = manualClock(0);
  const log = recordingLog();
  const opened = retryStart(failing(...codes), failure, { clock, log });
  for (const _ of codes) {
    await clock.slept(1_000);
    clock.advance(1_000);
  }
  expect(await opened).toBe('opened');
  expect(log.lines.map(({ level, message }) => [level, message])).toEqual([
    ['error', failure.message],
    ['info', 'The start goes on'],
  ]);
});

test.each(['redis.unauthorized', 'redis.unsuitable', 'config.invalid', 'deployment.conflict'] as const)(
  'a start ends with %s at once',
  async (code) => {
    const ports = { clock: manualClock(0), log: recordingLog() };
    await expect(retryStart(failing(code), REDIS_OUTAGE, ports)).rejects.toMatchObject({ code });
    expect(ports.log.lines).toEqual([]);
  },
);

test('a signal ends the wait', async () => {
  const stop = new AbortController();
  const clock = manualClock(0);
  const ports = { clock, log: recordingLog() };
  const waiting = retryStart(failing('redis.unreachable'), REDIS_OUTAGE, ports, stop.signal);
  await clock.slept(1_000);
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
});
