import { expect } from 'vitest';
import {
  type Checked,
  escaped,
  figureOf,
  judgementOf,
  namesKind,
  noteUnitIn,
  OF,
  type PackToCheck,
  shapeOf,
  type UnitsShown,
  withoutCases,
} from './checked.ts';
import type { Compared } from './days.ts';
import { changeIn, type ExpectedSection, type Figure, isFewChange } from './expected.ts';
import { fewStatuses, mayBeTile, totalKey } from './headlines.ts';
import type { Judged } from './judged.ts';
import { shows, showsChange } from './shown.ts';

/** `▲ 12.4% from 5,685`, `was 60`, `= unchanged at 5`, `no figure for the previous period`. */
function expectChange(text: string, figure: Figure, kind: Compared, where: string): void {
  const before = figure.others[kind]?.value ?? null;
  const why = `${where}: "${text}" for ${figure.now} against ${before}`;
  const showsBefore = (shown: string): boolean =>
    shows(withoutCases(shown, figure.unit, before, figure.others[kind]?.cases), before, figure.unit);
  const few = isFewChange(figure, kind);
  expect(few && /, (?:better|worse)$/.test(text), why).toBe(false);
  if (before === null) {
    expect(text, why).toBe(`no figure for the ${OF[kind]}`);
    return;
  }
  const comparable = figure.others[kind]?.comparable === true && !figure.provisional && figure.now !== null;
  if (!comparable) {
    expect(text.startsWith('was ') && showsBefore(text.slice(4)), why).toBe(true);
    return;
  }
  const change = changeIn(figure, kind);
  if (change === 0) {
    expect(text.startsWith('= unchanged at ') && showsBefore(text.slice(15)), why).toBe(true);
    return;
  }
  const [, unseen = ''] = /^no visible change from (.+)$/.exec(text) ?? [];
  if (unseen !== '') {
    const bare = withoutCases(unseen, figure.unit, before, figure.others[kind]?.cases);
    expect(showsBefore(unseen) && shows(bare, figure.now, figure.unit), why).toBe(true);
    return;
  }
  const [, times = '', was = ''] = /^▲ (.+ times as .+?), was (.+?)(?:, (?:better|worse))?$/.exec(text) ?? [];
  if (times !== '') {
    expect(!few && showsBefore(was) && showsChange(times, figure.now ?? 0, before, figure.unit), why).toBe(true);
    return;
  }
  const [, direction, , size, from = ''] = /^(▲|▼)( (.+))? from (.+?)(?:, (?:better|worse))?$/.exec(text) ?? [];
  expect(direction, why).toBe((figure.now ?? 0) > before ? '▲' : '▼');
  expect(showsBefore(from), why).toBe(true);
  expect(few && size?.includes('%'), why).not.toBe(true);
  if (change === null) expect(size, why).toBeUndefined();
  else expect(showsChange(size ?? '', figure.now ?? 0, before, figure.unit), why).toBe(true);
}

/** `+12.4%` or `-0.6 pp, worse`; `–` for no change. */
function expectShortChange(text: string, figure: Figure, kind: Compared, where: string): void {
  const before = figure.others[kind];
  const comparable = before?.comparable === true && !figure.provisional && figure.now !== null && before.value !== null;
  const change = comparable ? changeIn(figure, kind) : null;
  const why = `${where}: "${text}" for ${figure.now} against ${before?.value}`;
  if (change === null) {
    expect(text, why).toBe('–');
    return;
  }
  if (change === 0) {
    expect(text, why).toMatch(/^0(?:\.0+)?(?:%| pp)?$/);
    return;
  }
  const [now, was] = [figure.now ?? 0, before?.value ?? 0];
  if (text === 'no visible change') {
    expect(Math.abs(now - was), why).toBeLessThan(figure.unit === 'seconds' ? 0.1 * 86_400 : 0.001);
    return;
  }
  expect(isFewChange(figure, kind) && /%|, (?:better|worse)$/.test(text), why).toBe(false);
  const size = text.replace(/, (?:better|worse)$/, '').replace(/^([<>]?)[+-]/, '$1');
  expect(showsChange(size, now, was, figure.unit), why).toBe(true);
}

/** Checks a figure with its status if it has one: `83.0% (■ breached, target 90.0%)`. Returns the figure's text. */
function expectJudged(
  text: string,
  one: Judged | undefined,
  unit: string | null,
  showsTarget: boolean,
  checked: Checked,
  where: string,
): string {
  if (one === undefined) return text;
  const target = showsTarget ? ', target (?<target>.+?)(?:, watch .+)?' : '';
  const match = new RegExp(String.raw`^(?<value>.+) \(${escaped(shapeOf(one))}${target}\)$`).exec(text);
  expect(match, `${where}: "${text}" for ${one.status}`).not.toBeNull();
  if (showsTarget) expect(shows(match?.groups?.target ?? '', one.target.target, unit), where).toBe(true);
  checked.statuses += 1;
  return match?.groups?.value ?? '';
}

/** Checks the headline figures and tables in the plain text of an e-mail. */
export function checkEmail(
  text: string,
  { period, sections, judged }: PackToCheck,
  headlines: readonly string[],
  checked: Checked,
  units: UnitsShown,
): void {
  const lines = text.split('\n');
  const sentences = lines.flatMap((line) => (/^[!*] /.test(line) ? [line.slice(2)] : []));
  expect(sentences).toEqual(expect.arrayContaining([...headlines]));
  const rest = lines.filter((line) => line.startsWith('* ')).map((line) => line.slice(2));
  expect(rest).toEqual(headlines.filter((headline) => rest.includes(headline)));
  for (const section of sections) {
    const { id, granularity, dimensions, metrics, rows, kinds, toDate, order, total } = section;
    const start = lines.indexOf(id.toUpperCase());
    if (start < 0) {
      // If there is no room for the section, the e-mail names or counts it.
      expect(text, `${id} in ${text}`).toMatch(/\d+ more sections? (is|are) /);
      continue;
    }
    if (rows.length === 0) continue;
    const head = lines.findIndex((line, at) => at > start && line.includes(' | '));
    const cells = (offset: number): string[] => (lines[head + offset] ?? '').trim().split(' | ');
    if (rows.length === 1 && granularity === undefined && dimensions.length === 0) {
      const [row] = rows;
      if (row === undefined) continue;
      for (const [index, { id: metric, label, unit }] of metrics.slice(0, 10).entries()) {
        const figure = figureOf(row.figures, metric);
        const [name, cell = '', ...more] = cells(1 + index);
        const one = judgementOf(judged, section, metric, undefined);
        const figureText = expectJudged(cell, one, unit, true, checked, `${id} mail ${metric}`);
        const value = withoutCases(figureText, unit, figure.now, figure.cases);
        noteUnitIn(value, units, metric, unit);
        expect(name?.replace(/ \(still running\)$/, '')).toBe(label);
        expect(shows(value, figure.now, unit), `${id} mail ${metric} "${value}" for ${figure.now}`).toBe(true);
        kinds.forEach((kind, nth) => {
          expectChange(more[nth] ?? '', figure, kind, `${id} mail ${metric}`);
        });
        if (toDate !== undefined)
          expect(
            shows(withoutCases(more[kinds.length] ?? '', unit, figure.toDate, figure.toDateCases), figure.toDate, unit),
            `${id} mail to date ${metric} ${more.join(' | ')}`,
          ).toBe(true);
        checked.cells += 1 + kinds.length;
      }
      continue;
    }
    const labels = (granularity === undefined ? 0 : 1) + dimensions.length;
    const [kind] = kinds;
    const step = kind === undefined ? 1 : 2;
    const shown = metrics.slice(0, kind === undefined ? 5 - labels : Math.floor((7 - labels) / 2));
    // A single column has no separator.
    if (labels + shown.length < 2) continue;
    const [first] = order;
    const ranked = first !== undefined && !(granularity !== undefined && first.by === 'bucket' && first.dir === 'asc');
    const width = cells(0).length;
    if (head < 0 || width !== labels + shown.length * step) continue;
    const after = lines.slice(head + 1).findIndex((line) => line.trim().split(' | ').length !== width);
    const count = Math.max(0, (after < 0 ? lines.length - head - 1 : after) - (total === undefined ? 0 : 1));
    expect(count, `${id} rows in ${text}`).toBeLessThanOrEqual(Math.min(10, rows.length));
    const some = granularity === undefined || ranked ? rows.slice(0, count) : rows.slice(rows.length - count);
    for (const [index, row] of [...some, ...(total === undefined ? [] : [undefined])].entries()) {
      const record = cells(1 + index);
      for (const [nth, { id: metric, unit }] of shown.entries()) {
        const figure = figureOf(row?.figures ?? total ?? {}, metric);
        const figureText = expectJudged(
          record[labels + nth * step] ?? '',
          judgementOf(judged, section, metric, row),
          unit,
          false,
          checked,
          `${id} mail ${row?.bucket ?? 'total'} ${metric}`,
        );
        const cell = withoutCases(figureText, unit, figure.now, figure.cases);
        noteUnitIn(cell, units, metric, unit);
        expect(
          shows(cell, figure.now, unit),
          `${id} mail ${row?.bucket ?? 'total'} ${metric} "${cell}" for ${figure.now}`,
        ).toBe(true);
        if (kind !== undefined) expectShortChange(record[labels + nth * step + 1] ?? '', figure, kind, `${id} change`);
        checked.cells += 1;
      }
    }
  }
  checkTiles(lines, { period, sections, judged }, checked);
  const apart = (status: string) => Number(new RegExp(`(\\d+) ${status} on few cases`).exec(text)?.[1] ?? 0);
  expect({ breached: apart('breached'), watch: apart('watch') }).toEqual(fewStatuses(sections, judged, period));
}

/** Checks a tile, which shows the totals of one section with the comparisons of all sections that show them. */
function checkTiles(
  lines: readonly string[],
  { period, sections, judged }: Pick<PackToCheck, 'period' | 'sections' | 'judged'>,
  checked: Checked,
): void {
  const start = lines.indexOf('HEADLINE');
  const end = lines.indexOf('', start + 1);
  const tiles = start < 0 ? [] : lines.slice(start + 1, end).map((line) => line.trim());
  const each = sections.flatMap((section) => {
    const single = section.dimensions.length === 0 && section.granularity === undefined;
    const figures = section.total ?? (single ? section.rows[0]?.figures : undefined);
    return figures === undefined
      ? []
      : section.metrics.map(({ id, label, unit }) => ({ section, figure: figureOf(figures, id), id, label, unit }));
  });
  const all = each
    .filter(({ section }) => mayBeTile(section, period))
    .map((one) => {
      const keyOf = ({ section, id, figure }: typeof one): string => totalKey(section, id, figure.now);
      const [first = one, ...others] = each
        .filter((other) => keyOf(other) === keyOf(one))
        .sort((a, b) => b.section.kinds.length - a.section.kinds.length);
      const kinds = [...new Set([first, ...others].flatMap(({ section }) => section.kinds))];
      const known = Object.assign({}, ...others.map(({ figure }) => figure.others), first.figure.others);
      return { ...first, section: { ...first.section, kinds }, figure: { ...first.figure, others: known } };
    });
  const shown = tiles.filter((line) => !/^\d+ more /.test(line));
  expect(shown.length > 0).toBe(all.length > 0);
  const names = shown.map((line) => line.replace(/: .*$/, ''));
  expect(new Set(names).size, names.join('; ')).toBe(names.length);
  for (const tile of shown) {
    const faults = all
      .filter(({ label }) => tile.startsWith(`${label}:`) || tile.startsWith(`${label} (`))
      .map(({ section, figure, id, label, unit }) => {
        try {
          expectTile(tile.slice(label.length), section, figure, judgementOf(judged, section, id, undefined), unit);
          return undefined;
        } catch (thrown) {
          return thrown;
        }
      });
    if (!faults.includes(undefined)) throw new Error(`no section has "${tile}"`, { cause: faults });
    checked.cells += 1;
  }
}

function expectTile(
  rest: string,
  section: ExpectedSection,
  figure: Figure,
  one: Judged | undefined,
  unit: string | null,
): void {
  const change = section.kinds.length === 0 ? '' : String.raw` \((?<change>.+)\)`;
  const status = one === undefined ? '' : `, target (?<target>.+): (?<status>[●◆■○] .+?)`;
  const match = new RegExp(`^(?: \\(.*?\\))?: (?<value>[^:]+?(?: \\(n = \\d+\\))?)${status}${change}$`).exec(rest);
  expect(match, rest).not.toBeNull();
  const { value = '', target = '', status: shape, change: changes = '' } = match?.groups ?? {};
  const bare = withoutCases(value, unit, figure.now, figure.cases);
  expect(shows(bare, figure.now, unit), `${value} for ${figure.now}`).toBe(true);
  if (one !== undefined) {
    expect(shape).toBe(shapeOf(one));
    expect(shows(target, one.target.target, unit)).toBe(true);
  }
  if (section.kinds.length === 0) return;
  const texts = changes.split('; ');
  section.kinds.forEach((kind, nth) => {
    const text = texts[nth] ?? '';
    const own = namesKind(section) ? ` (${OF[kind]})` : '';
    expect(text.endsWith(own)).toBe(true);
    expectChange(text.slice(0, text.length - own.length), figure, kind, 'tile');
  });
}
