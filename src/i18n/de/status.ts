import type { DifferenceKind, status as english, TimeBefore } from '../en/status.ts';
import type { LocaleFormatters } from '../formatters.ts';

const UNITS = {
  day: 'am Vortag',
  week: 'in der Vorwoche',
  month: 'im Vormonat',
  quarter: 'im Vorquartal',
  year: 'im Vorjahr',
} as const;

const PER = { day: 'Tag', week: 'Woche', month: 'Monat', quarter: 'Quartal', year: 'Jahr' } as const;

const COMPARATIVES = {
  count: { up: 'mehr', down: 'weniger' },
  duration: { up: 'länger', down: 'kürzer' },
  other: { up: 'höher', down: 'niedriger' },
} as const satisfies Record<DifferenceKind, object>;

const MULTIPLES = { count: 'viele', duration: 'lang', other: 'hoch' } as const satisfies Record<DifferenceKind, string>;

export const status = (to: LocaleFormatters): ReturnType<typeof english> => {
  const before = (time: TimeBefore): string => {
    if (time === 'year_before') return 'ein Jahr zuvor';
    if ('unit' in time) return UNITS[time.unit];
    return 'days' in time
      ? `in den ${to.number(time.days)} Tagen davor`
      : `in den ${to.number(time.months)} Monaten davor`;
  };
  return {
    names: { on_target: 'im Ziel', watch: 'beobachten', breached: 'verfehlt', undefined: 'nicht definiert' },
    /** For a figure whose past still changes. */
    soFar: (name: string) => `bisher ${name}`,
    usual: {
      usual: (range) => `üblich ${range}`,
      unusual: (range) => `ausserhalb des üblichen Bereichs ${range}`,
      drifting: (range) => `driftet, üblich ${range}`,
    },
    usualColumn: 'Üblicher Bereich',
    few: (count, name) => `${to.number(count)} ${name} bei wenigen Fällen`,
    tones: { better: 'besser', worse: 'schlechter' },
    header: (label) => `${label}: Status`,
    column: 'Status',
    targetColumn: 'Ziel',
    watchColumn: 'Grenzwert',
    target: (target) => `Ziel ${target}`,
    watchLimit: (limit) => `beobachten ${limit}`,
    targetAbout: (target, owner, note) =>
      `Ziel ${target}${owner === undefined ? '' : `, verantwortlich ${owner}`}${note === undefined ? '' : `: ${note}`}`,
    targetPer: (target, per) => `${target} pro ${PER[per]}`,
    targets: (targets) => `Ziele: ${targets.join('; ')}.`,
    headlines: 'In Kürze',
    judged: (target, name) => `Ziel ${target}, ${name}`,
    change: (kind, direction, size, time) =>
      direction === 'same'
        ? `wie ${before(time)}`
        : direction === 'unseen'
          ? `nicht sichtbar anders als ${before(time)}`
          : `${size} ${COMPARATIVES[kind][direction]} als ${before(time)}`,
    unseen: 'keine sichtbare Veränderung',
    times: (kind, times) => `${times}-mal so ${MULTIPLES[kind]}`,
    headline: (label, parts, change) => `${label}: ${parts.join(', ')}${change === undefined ? '' : ` (${change})`}`,
    largestChange: (metric, group, change, apart) =>
      `Grösste Veränderung bei ${metric}${apart ? ', ohne Gruppen mit wenigen Fällen' : ''}: ${group}, ${change}`,
    betterMeans: (higher, lower) =>
      `Grün ist besser, Rot ist schlechter.${higher.length === 0 ? '' : ` Höher ist besser: ${higher.join(', ')}.`}${lower.length === 0 ? '' : ` Tiefer ist besser: ${lower.join(', ')}.`}`,
    schema: {
      status:
        'Ob der Wert sein Ziel erreicht: im Ziel, beobachten, verfehlt, nicht definiert (kein Wert); leer ohne Ziel',
    },
  };
};
