import { expect } from 'vitest';
import { changesNot, saysNot } from './check-headlines.ts';
import type { LabelOf, PackToCheck } from './checked.ts';
import type { Days } from './days.ts';
import { type ExpectedSection, isFewChange } from './expected.ts';
import { inOrder, isBehind, type Said, saidBy } from './headlines.ts';

// The sentence above a section, written from the contract only. It uses nothing of src/.

/** The group that changed most in one metric of a section. */
interface Mover {
  readonly label: string;
  readonly unit: string | null;
  readonly group: string;
  readonly now: number;
  readonly change: Said['changes'][number];
  /** Whether a group with few cases changed more. */
  readonly apart: boolean;
  /** Whether readers cannot see the change, so that no sentence is needed. */
  readonly tiny: boolean;
}

/** Differences below what a table can show. */
const TINY: Readonly<Record<string, number>> = { ratio: 0.001, seconds: 0.1 * 86_400 };

/** The groups of a section that changed most, those of its first metric first. */
function moversOf(section: ExpectedSection, wanted: readonly string[] | undefined, labelOf: LabelOf): readonly Mover[] {
  const { metrics, dimensions, granularity, range, kinds, rows } = section;
  const [kind] = kinds;
  if (kind === undefined || dimensions.length === 0 || granularity !== undefined || range === undefined) return [];
  const requested =
    wanted === undefined ? metrics : wanted.flatMap((id) => metrics.filter((metric) => metric.id === id));
  return requested.flatMap(({ id, label, unit }): Mover[] => {
    const moves = rows.flatMap(({ figures, groups, over }) => {
      const figure = figures[id];
      const { now = null, others = {}, provisional = false } = figure ?? {};
      const other = others[kind];
      if (now === null || provisional || !over || !other?.comparable || !other.like || other.value === null) return [];
      const group = groups.map((value, at) => labelOf(dimensions[at] ?? '', value)).join(', ');
      const before = other.value;
      return [
        { group, now, before, size: Math.abs(now - before), few: figure !== undefined && isFewChange(figure, kind) },
      ];
    });
    const enough = moves.filter(({ few }) => !few);
    const most = Math.max(0, ...enough.map(({ size }) => size));
    const found = enough.find(({ size }) => size === most);
    if (moves.length < 2 || found === undefined || most === 0) return [];
    const { group, now, before } = found;
    const apart = moves.some(({ few, size }) => few && size > most);
    const change = { before, kind, range };
    return [{ label, unit, group, now, change, apart, tiny: most < (TINY[unit ?? ''] ?? 0) }];
  });
}

/** What is wrong if a sentence does not say this; undefined if it does. */
function isNot(sentence: string, { label, unit, group, now, change, apart }: Mover): string | undefined {
  const head = `Largest change of ${label}${apart ? ', apart from groups of few cases' : ''}: ${group}, `;
  return sentence.startsWith(head) ? changesNot(sentence.slice(head.length), now, unit, change) : `not "${head}"`;
}

/** The possible takeaways: the first sentence, the first visible change, or nothing. */
export interface Takeaway {
  /** The figure that misses its target. */
  readonly behind: Said | undefined;
  readonly movers: readonly Mover[];
  /** Another figure that only this section shows. */
  readonly other: Said | undefined;
}

/** @param period of the report */
export function takeawayOf(
  section: ExpectedSection,
  { sections, judged, labelOf }: Pick<PackToCheck, 'sections' | 'judged' | 'labelOf'>,
  wanted: readonly string[] | undefined,
  period: Days,
): Takeaway {
  // Figures with the report's own period and scope cover the whole company.
  const own = saidBy(section, sections, judged, period, labelOf)
    .filter(({ place }) => place !== 'own')
    .map((each) => ({ ...each, place: 'own' as const, section: undefined }));
  const [behind] = inOrder(own.filter(isBehind), wanted);
  const [other] = inOrder(own, wanted);
  return { behind, movers: moversOf(section, wanted, labelOf), other };
}

/** Throws if the takeaway of a section differs from what its figures say. */
export function checkTakeaway(sentence: string | undefined, takeaway: Takeaway): void {
  const { behind, movers, other } = takeaway;
  const why = `"${sentence}" of ${JSON.stringify(takeaway)}`;
  const expectSaid = (said: Said) =>
    expect(sentence === undefined ? 'nothing' : saysNot(sentence, { ...said, place: 'other' }), why).toBeUndefined();
  if (behind !== undefined) {
    expectSaid(behind);
    return;
  }
  const seen = movers.findIndex(({ tiny }) => !tiny);
  const may = seen < 0 ? movers : movers.slice(0, seen + 1);
  if (sentence?.startsWith('Largest change of ')) {
    expect(
      may.some((mover) => isNot(sentence, mover) === undefined),
      why,
    ).toBe(true);
    return;
  }
  expect(seen, why).toBe(-1);
  if (other === undefined) expect(sentence, why).toBeUndefined();
  else expectSaid(other);
}
