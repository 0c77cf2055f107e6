import { z } from 'zod';
import { LIMITS } from '../../contract/limits.ts';
import { parseAmount } from './values/amount.ts';
import { lineSchema, printedLineSchema } from './values/primitives.ts';

export const BETTER = ['higher', 'lower'] as const;
export type Better = (typeof BETTER)[number];

/** Lengths of the period that a target for an additive count applies to. */
export const TARGET_PERIODS = ['day', 'week', 'month', 'quarter', 'year'] as const;
export type TargetPeriod = (typeof TARGET_PERIODS)[number];

const MAX_TARGETS = 500;
/** The most metrics in `headline`. */
export const MAX_HEADLINES = 5;

const EXPECTED_AMOUNT = "a number in the metric's unit, or one with its unit such as 90%, 24h or 2d";

/** Kept as written. `parseAmount` reads its meaning. */
const amountSchema = z.union([z.number(), z.string()], { error: EXPECTED_AMOUNT }).superRefine((value, context) => {
  if (parseAmount(value) !== undefined) return;
  context.addIssue({
    code: 'custom',
    message: EXPECTED_AMOUNT,
    params: { next: 'write a number, e.g. 90% or 24h' },
  });
});

const fieldsSchema = z.strictObject({
  metric: lineSchema(200).describe('Id of the metric.'),
  where: z
    .record(lineSchema(200), lineSchema(200))
    .refine((where) => Object.keys(where).length === 1, 'one dimension with one value, e.g. { profile.risk: high }')
    .optional()
    .describe('Limits the entry to one value of one dimension: its rows, or a section filtered only by it.'),
  per: z
    .enum(TARGET_PERIODS)
    .optional()
    .describe('For counts: judged only on whole periods of this length. Default: judged on totals.'),
  better: z.enum(BETTER).describe('Also colours a change as better or worse.'),
  target: amountSchema
    .optional()
    .describe(
      "A number in the metric's unit, or with its unit: 90%, 24h, 2d. An equal figure is on target. Default: only changes are coloured.",
    ),
  watch: amountSchema.optional().describe('From the target to here: watch. Beyond: breached. Default: no watch.'),
  from: z.iso
    .date('a date such as 2026-07-01')
    .optional()
    .describe(
      "First day on which the entry applies: the latest entry by the period's last day is used. Default: from the beginning.",
    ),
  rows: z
    .array(lineSchema(200))
    .min(1)
    .max(LIMITS.max_dimensions)
    .optional()
    .describe(
      'Dimensions whose groups the entry also applies to, e.g. [profile.group]: their rows get a status and a colour. Default: only totals and times.',
    ),
  each_desk: z
    .boolean()
    .optional()
    .describe(
      'In a report with `split`: also judges every pack by its own figures. Default: only one with `where` for it does.',
    ),
  few: z
    .literal('ignore', 'ignore, or nothing')
    .optional()
    .describe('Figures of few cases do not count for `send_if` and `required_if`. Default: they do.'),
  owner: printedLineSchema(320).optional().describe('Who is responsible for it.'),
  note: printedLineSchema(500).optional().describe('Where it was decided.'),
});

/** A target for a metric, as written. */
const targetSchema = fieldsSchema.superRefine(({ target, watch, better }, context) => {
  if (watch === undefined) return;
  const add = (message: string, next: string) =>
    context.addIssue({ code: 'custom', path: ['watch'], message, params: { next } });
  if (target === undefined) {
    add('no "watch" without a "target"', 'add a target, or remove it');
    return;
  }
  const [to, from] = [parseAmount(target), parseAmount(watch)];
  if (to === undefined || from === undefined) return;
  const worse = better === 'higher' ? from.value < to.value : from.value > to.value;
  if (worse) return;
  const side = better === 'higher' ? 'less' : 'more';
  add(`${side} than the target (${target}), because ${better} is better`, 'swap the two, or correct "better"');
});
export type Target = z.infer<typeof targetSchema>;

/** The dimension and value in `where`. */
export function parseWhere({ where }: Pick<Target, 'where'>): { dimension: string; value: string } | undefined {
  const [entry] = Object.entries(where ?? {});
  return entry === undefined ? undefined : { dimension: entry[0], value: entry[1] };
}

/** Equal for the entries of one target over time. */
export const targetKey = ({ metric, where, per }: Pick<Target, 'metric' | 'where' | 'per'>): string =>
  JSON.stringify([metric, Object.entries(where ?? {}), per ?? null]);

/** The targets of an organization or a report. Two entries for the same day are refused, because either could apply. */
export const targetListSchema = z
  .array(targetSchema)
  .max(MAX_TARGETS)
  .superRefine((targets, context) => {
    const first = new Map<string, number>();
    targets.forEach((target, index) => {
      const key = `${targetKey(target)} ${target.from ?? ''}`;
      const earlier = first.get(key);
      if (earlier === undefined) {
        first.set(key, index);
        return;
      }
      const since = target.from === undefined ? 'without "from"' : `from ${target.from}`;
      context.addIssue({
        code: 'custom',
        path: [index, ...(target.from === undefined ? ['metric'] : ['from'])],
        message: `one entry for ${target.metric} ${since} (targets[${earlier}] is one already)`,
        params: { next: 'remove one of the two, or give it another "from"' },
      });
    });
  });

/** `jobs/<org>/targets.yaml`. */
export const targetsFileSchema = z.strictObject({
  version: z.literal(1),
  targets: targetListSchema.describe('Targets for the figures of all reports of the organization.'),
});
export type TargetsFile = z.infer<typeof targetsFileSchema>;

/** A target, and the file that contains it. */
export type SourcedTarget = Target & { readonly source: 'organization' | 'report' };

/** The targets of a report: its own replace those of the organization with the same metric and `where`. */
export function reportTargets(
  ofOrganization: readonly Target[] = [],
  ofReport: readonly Target[] = [],
): readonly SourcedTarget[] {
  const keyOf = ({ metric, where }: Target) => targetKey({ metric, where });
  const own = new Set(ofReport.map(keyOf));
  return [
    ...ofOrganization
      .filter((target) => !own.has(keyOf(target)))
      .map((each) => ({ ...each, source: 'organization' as const })),
    ...ofReport.map((each) => ({ ...each, source: 'report' as const })),
  ];
}

/**
 * Of several entries with one `targetKey`, the one that applies on a day: the one with the latest `from` that is not
 * after it.
 * @param day a civil date
 */
export function heldTarget<Entry extends Pick<Target, 'from'>>(
  entries: readonly Entry[],
  day: string,
): Entry | undefined {
  return entries
    .filter(({ from = '' }) => from <= day)
    .reduce<Entry | undefined>((held, next) => ((held?.from ?? '') <= (next.from ?? '') ? next : held), undefined);
}
