import { expect, test } from 'vitest';
import type { TableNote } from '../../src/fetch/notes.ts';
import { messagesFor } from '../../src/i18n/messages.ts';
import { buildSummary } from '../../src/render/email/summary.ts';
import { UNDEFINED_TEXT } from '../../src/render/figures/format-value.ts';
import { legendNotes, tableFacts, tableNotes } from '../../src/render/table-notes.ts';
import {
  bucketColumn,
  countColumn,
  dataset,
  durationColumn,
  onboarding,
  previous,
  ratioColumn,
  row,
  table,
  WEEK_BEFORE,
  workload,
} from '../support/dataset.ts';

test('the facts of a table name the compared period, even when its days are unknown', () => {
  const [known] = tableFacts(dataset([]), onboarding);
  const [unknown] = tableFacts(dataset([]), { ...onboarding, comparisons: [{ ...WEEK_BEFORE, range: null }] });
  const [none] = tableFacts(dataset([]), { ...onboarding, comparisons: [] });
  expect(known).toMatch(/, compared with 2\D+8 November 2026\. Computed/);
  expect(unknown).toContain(', compared with the previous period (its days are not known). Computed');
  expect(none).not.toContain('compared');
});

const UNDEFINED_MEANS = messagesFor().table.undefinedMeans(UNDEFINED_TEXT);
const [count, duration] = [countColumn.name, durationColumn.name];
/** One day, compared with another weekday. */
const unlikeDay = (before: number | null) =>
  table({
    id: 'days',
    granularity: 'day',
    columns: [bucketColumn, countColumn],
    comparisons: [WEEK_BEFORE],
    rows: [
      row(
        { bucket: '2026-11-09', [count]: 4 },
        { compare: { previous_period: { values: { [count]: before }, unlike: 'weekdays' } } },
      ),
    ],
    notes: [unlikeNote],
  });
const unlikeNote: TableNote = {
  code: 'unlike',
  message: {
    id: 'unlike_rows',
    of: { granularity: 'day', reasons: [{ reason: 'weekdays', kinds: [], first: false, last: false, others: true }] },
  },
  incomplete: false,
};

test('the legend gives no second reason for a change that a note explains', () => {
  expect(legendNotes(unlikeDay(3))).not.toContain(UNDEFINED_MEANS);
  // The previous figure is undefined, which the note does not explain.
  expect(legendNotes(unlikeDay(null))).toContain(UNDEFINED_MEANS);
  const cohort = table({
    id: 'cohort',
    columns: [{ ...durationColumn, provisional: true }],
    comparisons: [WEEK_BEFORE],
    rows: [row({ [duration]: 5 }, { compare: previous({ [duration]: 4 }) })],
    totals: { values: { [duration]: 5 }, compare: previous({ [duration]: 4 }) },
  });
  expect(legendNotes(cohort)).not.toContain(UNDEFINED_MEANS);
});

test('the legend does not explain the counts of the last day as totals', () => {
  const { totalsMean } = messagesFor().table;
  const totals = { values: workload.rows.length === 0 ? {} : { [count]: 1 } };
  expect(legendNotes({ ...workload, totals })).toContain(totalsMean);
  expect(legendNotes({ ...workload, totals, readings: [] })).not.toContain(totalsMean);
});

test('an e-mail shows no changes of rows, and gives no reasons for missing ones', () => {
  const [section] = buildSummary({ dataset: dataset([unlikeDay(3)]), locale: 'en-GB' }).sections;
  expect(section?.notes).toEqual([]);
});

test('the notes of a new organization say once on which day its figures begin', () => {
  const start = (label: string, first = '2026-11-02'): TableNote => ({
    code: 'data_available_from',
    message: { id: 'no_data_before', of: { label, first } },
    incomplete: true,
  });
  const columns = [countColumn, ratioColumn];
  const texts = (notes: readonly TableNote[]) =>
    tableNotes(table({ id: 'a', columns, rows: [], notes })).map(({ text }) => text);
  expect(texts([start('A'), start('B')])).toEqual(['No figures before 2 November 2026.']);
  expect(texts([start('A')])).toHaveLength(1);
  expect(texts([start('A')])[0]).toContain('A has no data before');
  expect(texts([start('A'), start('B', '2026-11-03')])).toHaveLength(2);
});
