import { describe, expect, it, onTestFinished } from 'vitest';
import type { PeriodSpec } from '../../../src/definitions/schema/report-definition.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { onDemand, openQueueHarness, reportDefinition } from '../../support/queue-harness.ts';

/** 01:30 on 29 November in Zurich. */
const NIGHT = Date.parse('2026-11-29T00:30:00Z');
const days = (from: string, to = from): PeriodSpec => ({ from, to });

async function openDesk(at = NIGHT) {
  const harness = await openQueueHarness(manualClock(at));
  onTestFinished(() => harness.close());
  const ask = (period: PeriodSpec | undefined, unfinished?: boolean, report = reportDefinition()) =>
    harness
      .trigger({ ...onDemand(report), ...(period && { period }), ...(unfinished === undefined ? {} : { unfinished }) })
      .then(({ opened }) => opened);
  return { bench: harness, ask };
}

describe('the period of a request', () => {
  it('is refused if it has not begun in the report’s time zone, and nothing is opened', async () => {
    const { bench: harness, ask } = await openDesk();
    for (const unfinished of [undefined, true]) {
      await expect(ask(days('2026-11-30'), unfinished)).rejects.toMatchObject({ code: 'period.not_begun' });
      await expect(ask(days('2027-01-01', '2027-01-31'), unfinished)).rejects.toMatchObject({
        code: 'period.not_begun',
        got: expect.stringContaining('2027-01-01'),
      });
    }
    expect(await harness.runs.list({ limit: 10 })).toEqual([]);
  });

  it('is refused if its last day is not over, unless the request has `unfinished`', async () => {
    const { ask } = await openDesk();
    for (const period of [days('2026-11-29'), days('2026-11-01', '2026-11-30'), days('2026-11-23', '2026-11-29')]) {
      await expect(ask(period)).rejects.toMatchObject({ code: 'period.unfinished' });
      await expect(ask(period, false)).rejects.toMatchObject({ code: 'period.unfinished' });
      expect(await ask(period, true)).toBe(true);
    }
    expect(await ask(days('2026-11-28'))).toBe(true);
  });

  it('uses the time zone of the report, not that of its organization', async () => {
    const { ask } = await openDesk();
    const newYork = reportDefinition();
    const there = { ...newYork, definition: { ...newYork.definition, timezone: 'America/New_York' } };
    await expect(ask(days('2026-11-28'), undefined, there)).rejects.toMatchObject({ code: 'period.unfinished' });
    await expect(ask(days('2026-11-29'), true, there)).rejects.toMatchObject({ code: 'period.not_begun' });
  });

  it('may be unfinished if it has a name or comes from the definition', async () => {
    const { ask } = await openDesk();
    expect(await ask('current_month')).toBe(true);
    expect(await ask('week_to_date')).toBe(true);
    const fixed = reportDefinition();
    const own = { ...fixed, definition: { ...fixed.definition, period: days('2026-11-01', '2026-12-31') } };
    expect(await ask(undefined, undefined, own)).toBe(true);
  });

  it('is refused if the definition or a section has a period that has not begun', async () => {
    const { bench: harness, ask } = await openDesk();
    const report = reportDefinition();
    const [section] = report.definition.sections;
    const later = { ...report, definition: { ...report.definition, period: days('2027-01-01', '2027-01-31') } };
    const partly = {
      ...report,
      definition: { ...report.definition, sections: [{ ...section, id: 'later', period: days('2027-01-01') }] },
    } as typeof report;
    await expect(ask(undefined, true, later)).rejects.toMatchObject({ code: 'period.not_begun' });
    await expect(ask(undefined, true, partly)).rejects.toMatchObject({ code: 'period.not_begun' });
    // A slot has no caller, so its run ends with the error.
    const slot = { scheduled: NIGHT };
    const scheduled = { ...later, slot, trigger: 'schedule', priority: 'scheduled', deliver: true } as const;
    expect((await harness.trigger(scheduled)).opened).toBe(true);
  });
});
