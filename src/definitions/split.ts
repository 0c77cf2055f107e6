import { DocketError } from '../base/error.ts';
import { sha256 } from '../base/sha256.ts';
import { renderTemplate } from '../base/text/template.ts';
import type { Definition } from './schema/report-definition.ts';
import { type Desk, splitRecipients, TO_SPLIT } from './schema/split.ts';
import { parseWhere, type Target } from './schema/targets.ts';

const SLUG_LENGTH = 40;
const HASH_LENGTH = 10;

/**
 * Lower-case letters and digits of the value, and a hash, so that values which differ only in case have different
 * slugs.
 */
export function splitSlug(value: string): string {
  const words = value
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, SLUG_LENGTH)
    .replace(/^-+|-+$/g, '');
  const hash = sha256(value).slice(0, HASH_LENGTH);
  return words === '' ? hash : `${words}-${hash}`;
}

/** Used in place of a target's name for a value's report that nobody gets. */
export const heldTarget = ({ slug }: Pick<Desk, 'slug'>): string => `${UNASSIGNED_TARGET}:${slug}`;

/** Used in place of a target's name for a value without a report. */
export const UNASSIGNED_TARGET = 'held';

/** Whether a recorded delivery is a value's report that nobody gets. No retry sends it. */
export const isHeldPack = ({ target }: { readonly target: string }): boolean =>
  target === UNASSIGNED_TARGET || target.startsWith(`${UNASSIGNED_TARGET}:`);

export const buildDesk = (value: string, label: string): Desk => ({ value, label, slug: splitSlug(value) });

/**
 * Whether a recorded delivery is the report of a value.
 * @param target as in the ledger, e.g. `0-email:retail-1f0e`
 */
export const isOfValue = ({ target }: { readonly target: string | null }, value: string): boolean =>
  target?.endsWith(`:${splitSlug(value)}`) ?? false;

/**
 * Throws `usage.invalid` if a value is named for a report without `split`, or a value whose report nobody would get.
 */
export function assertSplitValue(
  definition: Pick<Definition, 'org' | 'report' | 'split'>,
  value: string | undefined,
  { deliver }: { readonly deliver: boolean },
): void {
  if (value === undefined) return;
  const report = `${definition.org}/${definition.report}`;
  if (definition.split === undefined) {
    throw new DocketError('usage.invalid', `${report} has no "split", so it has no pack for a single value.`, {
      got: `the value "${value}"`,
      next: 'Leave the value out.',
    });
  }
  if (!deliver || deskRecipients(definition, value) !== undefined) return;
  throw new DocketError('usage.invalid', `Nobody would get the pack for "${value}".`, {
    where: report,
    expected: 'a value with addresses in split.to',
    next: 'Add its addresses to split.to, or correct the value.',
  });
}

/** The addresses that get the report of a value; undefined if none are defined. */
export function deskRecipients({ split }: Pick<Definition, 'split'>, value: string): readonly string[] | undefined {
  if (split === undefined) return undefined;
  const named = splitRecipients(split).get(value);
  return named ?? (Array.isArray(split.others) ? split.others : undefined);
}

/** Whether a section shows only the figures of one value. All other sections are the same in every value's report. */
export const isSplitSection = ({ split, layout }: Pick<Definition['sections'][number], 'split' | 'layout'>): boolean =>
  split !== false && layout !== 'text';

/**
 * The report of one value as an ordinary report: its sections have a filter on the value, and its recipients and
 * targets are those of the value. It names no other value.
 */
export function deskDefinition(definition: Definition, { value, label, slug }: Desk): Definition {
  const desk = { value, label, slug };
  const { split, title, sections, deliveries, targets } = definition;
  if (split === undefined) return definition;
  const { by } = split;
  const { split: _split, ...rest } = definition;
  const to = deskRecipients(definition, desk.value) ?? [];
  return {
    ...rest,
    desk,
    title: title.includes('{{') ? renderTemplate(title, { split: desk }, 'the title') : `${title} – ${desk.label}`,
    sections: sections.map((section) =>
      isSplitSection(section)
        ? {
            ...section,
            filters: [...(section.filters ?? []), { dimension: by, op: 'eq' as const, values: [desk.value] }],
          }
        : section,
    ),
    deliveries: deliveries.map(({ split: _, ...delivery }) =>
      Object.fromEntries(
        Object.entries(delivery).map(([kind, spec]) => [kind, isToSplit(spec) ? { ...spec, to } : spec]),
      ),
    ),
    ...(targets === undefined ? {} : { targets: deskTargets(targets, by, desk.value) }),
  };
}

/**
 * The sections as targets see them: without the filter on the report's value, because all targets apply to that value.
 */
export const judgedSections = ({ desk, sections }: Pick<Definition, 'desk' | 'sections'>): Definition['sections'] =>
  desk === undefined
    ? sections
    : sections.map((section) =>
        isSplitSection(section) ? { ...section, filters: section.filters?.slice(0, -1) } : section,
      );

/** Whether a delivery goes to the recipients of each value. */
export const isToSplit = (spec: unknown): spec is { readonly to: typeof TO_SPLIT } =>
  typeof spec === 'object' && spec !== null && 'to' in spec && spec.to === TO_SPLIT;

/**
 * The targets of one value: those whose `where` names it, which then judge its whole report, and those with
 * `each_desk`.
 */
export function deskTargets(targets: readonly Target[], by: string, value: string): Target[] {
  const own = targets.flatMap((target) => {
    const where = parseWhere(target);
    if (where?.dimension !== by || where.value !== value) return [];
    const { where: _where, ...whole } = target;
    return [whole];
  });
  const judged = new Set(own.map(({ metric }) => metric));
  const isGeneral = (target: Target): boolean =>
    target.each_desk === true &&
    parseWhere(target)?.dimension !== by &&
    !(target.where === undefined && judged.has(target.metric));
  return [...own, ...targets.filter(isGeneral)];
}
