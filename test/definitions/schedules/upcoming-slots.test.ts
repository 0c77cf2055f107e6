import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scheduleSchema } from '../../../src/definitions/schedules/schedule.ts';
import { nextReportSlots, type Timetable } from '../../../src/definitions/schedules/slots.ts';
import { groupByTimetable, slotFinder } from '../../../src/definitions/schedules/upcoming-slots.ts';
import { cases } from '../../support/fuzz.ts';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-11-21T19:17:23Z');
const timetable = (timezone: string, ...crons: string[]): Timetable => ({
  schedules: crons.map((cron) => scheduleSchema.parse({ cron })),
  timezone,
});

describe('the next slots of many reports', () => {
  it('are the slots of each single report, merged in order', async () => {
    const crons = ['* * * * *', '*/7 * * * *', '0 8 * * MON', '30 2 * * *', '0 0 1 * *', '15 19 * * 6', '0 0 29 2 *'];
    const find = slotFinder();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom('UTC', 'Europe/Zurich', 'Asia/Kolkata'), fc.subarray(crons)), {
          minLength: 1,
          maxLength: 12,
        }),
        fc.integer({ min: 0, max: 300 * DAY_MS }),
        fc.integer({ min: 0, max: 2 * DAY_MS }),
        fc.integer({ min: 1, max: 120 }),
        async (tables, later, span, limit) => {
          const from = NOW + later;
          const until = from + span;
          const reports = tables.map(([zone, own], index) => [index, timetable(zone, ...own)] as const);
          const expected = reports
            .flatMap(([, own]) => nextReportSlots(own, from - 1, limit).map(({ at }) => at))
            .filter((at) => at < until)
            .sort((one, other) => one - other)
            .slice(0, limit);
          const found = await find(groupByTimetable(reports), { from, until, limit });
          expect(found.map(({ slot }) => slot.at)).toEqual(expected);
          for (const { slot, report } of found) {
            expect(nextReportSlots(reports[report]![1], slot.at - 1, 1)).toMatchObject([{ at: slot.at }]);
          }
        },
      ),
      cases(15),
    );
  });

  it('are found without an end, and omit reports without further slots', async () => {
    const groups = groupByTimetable([
      ['yearly', timetable('UTC', '0 0 1 1 *')],
      ['on demand', timetable('UTC')],
      ['over', { ...timetable('UTC'), schedules: [scheduleSchema.parse({ cron: '0 8 * * *', end: '2026-01-01' })] }],
    ]);
    const found = await slotFinder()(groups, { from: NOW, limit: 3 });
    expect(found.map(({ slot, report }) => `${report} ${new Date(slot.at).toISOString().slice(0, 10)}`)).toEqual([
      'yearly 2027-01-01',
      'yearly 2028-01-01',
      'yearly 2029-01-01',
    ]);
  });

  it('are found without blocking the event loop', async () => {
    let turns = 0;
    let over = false;
    const turn = () => {
      turns += 1;
      if (!over) setImmediate(turn);
    };
    setImmediate(turn);
    const groups = groupByTimetable(
      Array.from({ length: 500 }, (_, n) => [n, timetable('UTC', `${n % 60} ${Math.floor(n / 60)} * * *`)] as const),
    );
    await slotFinder()(groups, { from: NOW, limit: 10 });
    over = true;
    expect(turns).toBeGreaterThanOrEqual(10);
  });
});
