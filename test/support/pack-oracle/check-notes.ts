import { expect } from 'vitest';
import { type Checked, escaped } from './checked.ts';
import { changeIn, type ExpectedSection } from './expected.ts';

/** Checks that every comparison of different lengths, and every comparison left out for that reason, has a note. */
export function checkNotes(texts: readonly string[], section: ExpectedSection, checked: Checked): void {
  const { total, rows, kinds, metrics, granularity, range, over } = section;
  if (metrics.every(({ id }) => id.startsWith('cohort.'))) return;
  const whole = total ?? (granularity === undefined ? rows[0]?.figures : undefined);
  for (const kind of kinds) {
    const shown = Object.values(whole ?? {}).some(
      (figure) => changeIn(figure, kind) !== null && figure.others[kind]?.like === false,
    );
    if (shown) {
      expect(texts.join('\n'), section.id).toMatch(
        / compares (\d+ days with \d+|days that begin on another weekday|the counts (on other weekdays|at the end of \d+ and of \d+ days))\./,
      );
      checked.notes += 1;
    }
    // A provisional figure has its own note.
    const refused = Object.values(whole ?? {}).some(
      ({ provisional, others: { [kind]: other } }) => !provisional && other?.comparable === false,
    );
    const provisional = metrics.some(({ id }) => whole?.[id]?.provisional === true);
    if (provisional) expect(texts.join('\n'), section.id).toMatch(/figures of past periods still change/);
    if (refused) expect(texts.join('\n'), section.id).toMatch(/No change.* of the whole range is shown/);
    if (granularity === undefined) continue;
    const notComparable = rows.some((row) =>
      Object.values(row.figures).some((figure) => figure.others[kind]?.comparable === false),
    );
    if (notComparable) {
      expect(texts.join('\n'), section.id).toMatch(/No change is shown for /);
      checked.notes += 1;
    }
  }
  for (const { label, first } of metrics) {
    if (range === undefined || range.from >= first) continue;
    // If no metric of the section has data, one sentence says so for all of them.
    const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(first));
    const none = range.to < first ? `|No figures before ${day}` : '';
    expect(texts.join('\n')).toMatch(new RegExp(`${escaped(label)} has (no data before|data from) ${first}${none}`));
    checked.notes += 1;
  }
  if (range === undefined) expect(texts.join('\n')).toMatch(/Current counts, as of /);
  if (section.read) {
    const said = texts.join('\n');
    const gaps = [...rows.flatMap(({ read = [] }) => read), ...(section.totalRead ?? [])].filter(
      ({ at }) => at === null,
    );
    for (const { day } of gaps) expect(said, section.id).toMatch(new RegExp(`(No reading on|Not read yet:).*${day}`));
    checked.notes += gaps.length > 0 ? 1 : 0;
    return;
  }
  if (!over && rows.length > 0) expect(texts.join('\n')).toMatch(/still running|has not ended|figures will grow/);
}
