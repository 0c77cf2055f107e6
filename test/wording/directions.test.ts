import { expect, it } from 'vitest';
import { messagesFor } from '../../src/i18n/messages.ts';

/** Words for a movement. A change alone is none: most are usual. */
const MOVEMENTS =
  /\b(?:ups?|down|rises?|rose|risen|falls?|fell|fallen|drop(?:s|ped)?|increas\w+|decreas\w+|grew|grown|gestiegen|steigt|stieg|gesunken|sinkt|sank|gefallen|fällt|fiel|anstieg|rückgang|zunahme|abnahme|zugenommen|abgenommen)\b/iu;

const KINDS = ['count', 'duration', 'other'] as const;
const DIRECTIONS = ['up', 'down'] as const;
const TIMES = [{ unit: 'week' }, { unit: 'month' }, { days: 9 }, { months: 2 }, 'year_before'] as const;
const POINT = { value: '8', at: 'Oct 2026' };

it.each(['en-GB', 'de-DE'])('texts about changes contain no words such as “rises” or “falls” (%s)', (locale) => {
  const { status, mail, chart, pack } = messagesFor(locale);
  const changes = KINDS.flatMap((kind) => [
    status.times(kind, '3'),
    ...[...DIRECTIONS, 'same' as const, 'unseen' as const].flatMap((direction) =>
      TIMES.map((time) => status.change(kind, direction, '8', time)),
    ),
  ]);
  const ranges = Object.values(status.usual).map((said) => said('420–520'));
  const phrases = DIRECTIONS.flatMap((direction) => ['8', undefined].map((size) => mail.changed(direction, size, '5')));
  const texts = [
    ...[...changes, ...ranges, ...phrases],
    mail.changedTimes('3', '5'),
    mail.unchanged('5'),
    mail.unseen(status.unseen, '5'),
    chart.trend('A', { first: POINT, last: POINT, highest: POINT, lowest: POINT }),
    pack.trendText('A', { label: 'Sep', text: '1' }, { label: 'Oct', text: '2' }),
    ...Object.values(status.tones),
  ];
  expect(texts.filter((text) => MOVEMENTS.test(text))).toEqual([]);
  // Texts show the size of a change with a neutral word or an arrow instead.
  expect(status.change('count', 'up', '8', { unit: 'week' })).toBe(
    locale === 'en-GB' ? '8 more than the week before' : '8 mehr als in der Vorwoche',
  );
  expect(mail.changed('down', '8', '5')).toBe(locale === 'en-GB' ? '▼ 8 from 5' : '▼ 8, zuvor 5');
});
