import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CronTime } from 'cron';
import fc from 'fast-check';
import { DateTime, IANAZone } from 'luxon';
import { describe, expect, test } from 'vitest';
import { loadDefinitions, reportFileSchema } from '../../../src/compose/built-in-kinds.ts';
import { formatDiagnostic } from '../../../src/definitions/diagnostics/diagnostic.ts';
import { readImageInfo } from '../../../src/definitions/load/logo.ts';
import { formatPeriod, parsePeriod, resolvePeriod } from '../../../src/definitions/periods/period.ts';
import { NAMED_PERIODS } from '../../../src/definitions/periods/period-spec.ts';
import { calendarSchema } from '../../../src/definitions/schedules/calendar.ts';
import { cronError, parseCron } from '../../../src/definitions/schedules/cron.ts';
import { buildTimetable, nextReportSlots } from '../../../src/definitions/schedules/slots.ts';
import { parseSendCondition } from '../../../src/definitions/schema/send-condition.ts';
import {
  deadlineSchema,
  formatDurationLiteral,
  maxAgeSchema,
} from '../../../src/definitions/schema/values/durations.ts';
import { isZone, localeSchema, parseSize } from '../../../src/definitions/schema/values/primitives.ts';
import { looksLikeSecret } from '../../../src/definitions/yaml/secret-detection.ts';
import { parseHostKey } from '../../../src/deliver/targets/sftp/host-key.ts';
import { formatDateRange, formatZonedInstant } from '../../../src/render/figures/format-date.ts';
import { formatValue } from '../../../src/render/figures/format-value.ts';
import type { Quantity } from '../../../src/render/figures/quantity.ts';
import {
  cases,
  expectCleanPrototypes,
  hostileText,
  least,
  mutatedText,
  readOrUndefined,
  within,
} from '../../support/fuzz.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';

const MONDAY = Date.parse('2026-11-23T07:00:00Z');
const MINUTE = 60_000;

const CRONS = [
  '0 8 * * MON',
  '*/15 6-22 1,15 * *',
  '30 7 L * *',
  '0 0 * * 5L',
  '0 9 1W JAN-MAR *',
  '0 6 * * MON-FRI#2',
  '@daily',
  '59 23 31 12 7',
];
const CRON_WORDS = [
  '*',
  '/',
  '-',
  ',',
  '#',
  'L',
  'W',
  'MON',
  'sun',
  'JAN',
  'Dec',
  '60',
  '24',
  '32',
  '13',
  '8',
  '0',
  '5-1',
  '*/0',
  '1-2/99',
  '1e1',
  '0x1',
  'E9',
  ' ',
];
/** Crons that all libraries read alike: no L, W, # and `@`, and days of the month or of the week, not both. */
const COMMON = /^(\S+ \S+ \S+ \S+ \*|\S+ \S+ \* \S+ \S+)$/;

describe('a cron expression', () => {
  const field = (most: number, least: number) => {
    const number = fc.integer({ min: least, max: most }).map(String);
    const range = fc
      .tuple(fc.integer({ min: least, max: most }), fc.integer({ min: least, max: most }))
      .map((ends) => ends.sort((a, b) => a - b).join('-'));
    const part = fc.oneof(
      number,
      range,
      fc.constant('*'),
      fc.integer({ min: 1, max: most }).map((step) => `*/${step}`),
      fc.tuple(range, fc.integer({ min: 1, max: 5 })).map(([span, step]) => `${span}/${step}`),
    );
    return fc.oneof(
      { weight: 3, arbitrary: fc.constant('*') },
      fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(',')),
    );
  };
  const grammar = fc
    .tuple(field(59, 0), field(23, 0), field(31, 1), field(12, 1), field(7, 0))
    .map((fields) => fields.join(' '));

  test(
    'has a readable error, or the same times as in another library',
    () => {
      let valid = 0;
      let compared = 0;
      fc.assert(
        fc.property(fc.oneof(grammar, mutatedText(CRONS, CRON_WORDS), hostileText()), (text) => {
          const fault = cronError(text);
          if (fault !== undefined) return void expect(fault).not.toMatch(/undefined|\n\s+at /);
          valid += 1;
          const cron = parseCron(text);
          const times: number[] = [];
          for (const time of cron.between(MONDAY, Number.POSITIVE_INFINITY)) {
            times.push(time);
            if (times.length === 4) break;
          }
          expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
          for (const time of times) expect(time % MINUTE).toBe(0);
          const plain = text.trim().replace(/\s+/g, ' ');
          if (!COMMON.test(plain) || /[LW#@]/i.test(plain.replace(/JUL/gi, ''))) return;
          const theirs: number[] = [];
          try {
            const other = new CronTime(plain, 'UTC');
            for (let at = MONDAY - 1; theirs.length < times.length; ) {
              at = other.getNextDateFrom(new Date(at), 'UTC').toMillis();
              theirs.push(at);
            }
          } catch {
            // The other library gives up on rare days, and accepts fewer forms.
            return;
          }
          expect(times, plain).toEqual(theirs);
          compared += 1;
        }),
        cases(800),
      );
      expect(valid).toBeGreaterThan(least(100));
      expect(compared).toBeGreaterThan(least(50));
    },
    within(4),
  );
});

const PERIODS = [
  ...NAMED_PERIODS,
  'last_30_days',
  'last_12_months',
  '2026-09',
  '2026-W46',
  '2026-Q3',
  '2026',
  '2026-11-01',
  '2026-11-01..2026-11-15',
];

test(
  'any period is refused or gives existing days in order',
  () => {
    let valid = 0;
    fc.assert(
      fc.property(
        mutatedText(PERIODS, ['0000', '9999', '02-30', '0', 'W53', '..']),
        fc.constantFrom('UTC', 'Pacific/Apia', 'America/New_York'),
        fc.constantFrom('en-GB', 'de-CH'),
        (text, zone, locale) => {
          const spec = readOrUndefined(() => parsePeriod(text), text);
          if (spec === undefined) return;
          valid += 1;
          const period = resolvePeriod(spec, MONDAY, zone, locale);
          const [from, to] = [period.from, period.to].map((day) => DateTime.fromISO(day, { zone: 'utc' }));
          expect([from?.toISODate(), to?.toISODate()]).toEqual([period.from, period.to]);
          const days = to === undefined || from === undefined ? Number.NaN : to.diff(from, 'days').days;
          expect(days).toBeGreaterThanOrEqual(0);
          expect(days).toBeLessThan(3_700);
          expect(`${period.label} ${formatPeriod(period, locale)}`).not.toMatch(/Invalid|undefined|NaN/);
        },
      ),
      cases(1_500),
    );
    expect(valid).toBeGreaterThan(least(100));
  },
  within(3),
);

const ZONES = ['Europe/Zurich', 'UTC', 'America/Argentina/Buenos_Aires', 'Etc/GMT+12', 'Asia/Kolkata', 'EST5EDT'];

test(
  'an accepted time zone is also valid for Intl and luxon',
  () => {
    fc.assert(
      fc.property(fc.oneof(mutatedText(ZONES, ['/', '+01:00', 'GMT', '_', 'utc']), hostileText(3)), (name) => {
        if (!isZone(name)) return;
        expect(IANAZone.isValidZone(name)).toBe(true);
        expect(Number.isFinite(IANAZone.create(name).offset(MONDAY))).toBe(true);
        expect(new Intl.DateTimeFormat('en', { timeZone: name }).format(MONDAY)).toMatch(/2026/);
      }),
      cases(1_500),
    );
  },
  within(2),
);

const QUANTITIES: readonly Quantity[] = [
  { kind: 'count' },
  { kind: 'ratio' },
  { kind: 'duration', scale: 'hours' },
  { kind: 'amount', unit: 'chf', decimals: 2 },
  { kind: 'points' },
  { kind: 'relative' },
  { kind: 'difference', unit: null, decimals: 0 },
  { kind: 'bucket', granularity: 'week' },
  { kind: 'day' },
  { kind: 'instant' },
  { kind: 'identifier' },
  { kind: 'text' },
];
const LOCALES = ['en-GB', 'en-US', 'de-CH', 'de-AT', 'de', 'en-Latn-GB', 'de-1996'];

test(
  'an accepted locale formats every value and every date',
  () => {
    const date = fc.oneof(
      fc.constantFrom('2026-11-09', '0000-01-01', '9999-12-31', '2026-02-30', '2026-11-19T08:00:00Z'),
      mutatedText(['2026-11-09']),
      hostileText(2),
    );
    const value = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(-0, Number.MAX_VALUE, Number.MIN_VALUE, -1e21, 0.1 + 0.2, null, true),
      date,
    );
    let valid = 0;
    fc.assert(
      fc.property(
        mutatedText(LOCALES, ['-', 'u', 'x', 'POSIX', 'Zzzz', '001']),
        fc.constantFrom(...QUANTITIES),
        value,
        date,
        date,
        (tag, quantity, shown, from, to) => {
          if (!localeSchema.safeParse(tag).success) return;
          valid += 1;
          const text = formatValue(shown, quantity, tag);
          if (typeof shown !== 'string') expect(text).not.toMatch(/undefined|NaN|Invalid Date/);
          expect(formatDateRange({ from, to }, tag)).not.toMatch(/Invalid Date/);
          expect(formatZonedInstant(new Date(MONDAY), 'Europe/Zurich', tag)).toMatch(/2026/);
        },
      ),
      cases(1_500),
    );
    expect(valid).toBeGreaterThan(least(100));
  },
  within(3),
);

describe('any text is refused or gives a valid value for', () => {
  test.each([
    ['deadline', deadlineSchema, 60, 7 * 86_400],
    ['max_age', maxAgeSchema, 0, 86_400],
  ] as const)(
    '%s',
    (_, schema, least, most) => {
      const given = fc.oneof(
        mutatedText(['90s', '30m', '4h', '2d', '0s', '0000001h']),
        fc.integer(),
        fc.double(),
        hostileText(2),
        fc.constantFrom(null, true, [], {}),
      );
      fc.assert(
        fc.property(given, (value) => {
          const read = schema.safeParse(value);
          if (!read.success) return;
          expect(Number.isInteger(read.data) && read.data >= least && read.data <= most, String(value)).toBe(true);
          expect(schema.parse(formatDurationLiteral(read.data))).toBe(read.data + 0);
        }),
        cases(1_000),
      );
    },
    within(2),
  );

  test(
    'sizes',
    () => {
      fc.assert(
        fc.property(fc.oneof(mutatedText(['10MB', '500KB', '1 B', '104857600']), hostileText(2)), (text) => {
          const bytes = parseSize(text);
          if (bytes !== undefined)
            expect(Number.isInteger(bytes) && bytes > 0 && bytes <= 100 * 2 ** 20, text).toBe(true);
        }),
        cases(1_000),
      );
    },
    within(2),
  );

  test(
    'conditions',
    () => {
      fc.assert(
        fc.property(
          fc.oneof(
            mutatedText(['alerts.open > 10', 'queue:sla.met < 95%', 'a != -1.5h', 'changed', 'non_empty']),
            hostileText(),
          ),
          (text) => {
            const read = parseSendCondition(text);
            if ('kind' in read && read.kind === 'compare') {
              expect(Number.isFinite(read.value)).toBe(true);
              expect(read.metric).toMatch(/^[\w.-]+$/);
            } else if (!('kind' in read)) expect(`${read.expected} ${read.got}`).not.toMatch(/undefined|[\n\r\0]/);
          },
        ),
        cases(1_000),
      );
    },
    within(2),
  );
});

test(
  'any host key, secret or picture is recognized or ignored, without an exception',
  () => {
    const line = `acme.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${'A'.repeat(43)}`;
    const png = Buffer.from('89504e470d0a1a0a0000000d494844520000000a0000000a08060000008d32cfbd', 'hex');
    const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffc0000b080010001001011100', 'hex');
    fc.assert(
      fc.property(
        mutatedText([line, `SHA256:${'a'.repeat(43)}`]),
        hostileText(),
        fc.constantFrom(png, jpeg),
        fc.nat(),
        fc.uint8Array({ maxLength: 40 }),
        (key, text, picture, at, more) => {
          const read = parseHostKey(key);
          if (read !== undefined) expect(read.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
          expect(typeof looksLikeSecret(text)).toBe('boolean');
          const found = readImageInfo(Buffer.concat([picture.subarray(0, at % (picture.length + 1)), more]));
          if (found !== undefined) expect(Number.isInteger(found.width) && Number.isInteger(found.height)).toBe(true);
        },
      ),
      cases(1_000),
    );
  },
  within(2),
);

describe('a folder of definitions', () => {
  const WORDS = [
    'CH',
    'ZH',
    'US',
    'calendar: { country: CH }',
    'schedule:',
    '{',
    '}',
    '\n',
    '  ',
    '*',
    '&a',
    '<<: *a',
    'on: business_day',
    'shift: next',
    'jitter: 5m',
  ];
  const CALENDARS = [
    'calendar: { country: CH, region: ZH }',
    'calendar: { country: DE, region: BY-A, weekend: [FRI] }',
    'calendar: { holidays: ["2026-12-24"] }',
  ];

  test(
    'with any content has a report with slots, or errors',
    async () => {
      const folder = await jobsFolder({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT });
      const pair = fc.tuple(
        mutatedText(CALENDARS, WORDS).map((calendar) => `${ORG}${calendar}\n`),
        fc.oneof(mutatedText([REPORT], WORDS), mutatedText([REPORT], CRON_WORDS)),
      );
      let taken = 0;
      await fc.assert(
        fc.asyncProperty(pair, async ([org, report]) => {
          await writeFile(join(folder, 'acme/org.yaml'), org);
          await writeFile(join(folder, 'acme/weekly.yaml'), report);
          const jobs = await loadDefinitions(folder);
          for (const fault of jobs.diagnostics)
            expect(formatDiagnostic(fault)).not.toMatch(/undefined(?! (filter|variable))|\[object|\n/);
          const [found] = jobs.reports.values();
          const settings = jobs.orgs.get('acme');
          if (found === undefined || settings === undefined)
            return void expect(jobs.diagnostics.length).toBeGreaterThan(0);
          taken += 1;
          const slots = nextReportSlots(buildTimetable(found, settings), MONDAY, 3).map(({ at }) => at);
          expect(slots).toEqual([...slots].sort((a, b) => a - b));
          for (const at of slots) expect(at).toBeGreaterThan(MONDAY);
          expectCleanPrototypes();
        }),
        cases(150),
      );
      expect(taken).toBeGreaterThan(least(5));
    },
    within(5),
  );

  test(
    'with any calendar has valid holidays, or is refused',
    () => {
      fc.assert(
        fc.property(
          fc.record(
            {
              country: mutatedText(['CH', 'DE']),
              holidays: fc.array(mutatedText(['2026-12-24', '2028-02-29']), { maxLength: 2 }),
              weekend: fc.array(fc.constantFrom('SAT', 'SUN', 'MON', 'sat')),
            },
            { requiredKeys: [] },
          ),
          (calendar) => {
            const read = calendarSchema.safeParse(calendar);
            if (read.success) for (const day of read.data.holidays) expect(DateTime.fromISO(day).toISODate()).toBe(day);
          },
        ),
        cases(500),
      );
      expect(reportFileSchema.safeParse(JSON.parse('{"__proto__":{"version":1}}')).success).toBe(false);
    },
    within(2),
  );
});
