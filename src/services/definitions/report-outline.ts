import { z } from 'zod';
import { mergeDisplay } from '../../definitions/display.ts';
import { periodSpecSchema } from '../../definitions/periods/period-spec.ts';
import { localDay } from '../../definitions/schedules/reading-window.ts';
import type { Schedule } from '../../definitions/schedules/schedule.ts';
import { formatSchedule } from '../../definitions/schedules/slot-view.ts';
import { COMPARISON_KINDS, TO_DATE } from '../../definitions/schema/comparison.ts';
import { type DeliverySpec, describeDelivery } from '../../definitions/schema/kinds.ts';
import { chartAsked, type Definition, type Section } from '../../definitions/schema/report-definition.ts';
import { splitRecipients } from '../../definitions/schema/split.ts';
import { heldTarget, reportTargets, type SourcedTarget, targetKey } from '../../definitions/schema/targets.ts';
import { formatDurationLiteral } from '../../definitions/schema/values/durations.ts';
import { TARGETS } from '../../deliver/targets/registry.ts';
import { DEFAULT_LOCALE, messagesFor } from '../../i18n/messages.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { describeCron } from '../../render/email/phrases.ts';

const textOrNull = z.string().nullable();

/** What a report contains and who receives it, for people who do not read YAML. */
export const reportOutlineSchema = z
  .object({
    period: periodSpecSchema.describe('Its name in the definition, or its first and last day.'),
    compare: z.array(z.enum(COMPARISON_KINDS)).readonly(),
    to_date: z.enum(TO_DATE).nullable(),
    on_incomplete: z.enum(['fail', 'hold', 'flag']).describe('What happens when figures are missing.'),
    approval: z
      .object({
        by: z.array(z.string()).readonly().describe('Keys of `people`, names of tokens, or accounts.'),
        need: z.int(),
        four_eyes: z.boolean(),
        within: z.int().nullable().describe('Business days; null: no limit.'),
        otherwise: z.enum(['hold', 'cancel']),
      })
      .nullable()
      .describe('Who must approve it before it is delivered; null: nobody.'),
    corrections: z
      .object({
        watch: z.string().describe('How long an edition is watched.').meta({ example: '35d' }),
        materiality: z.number().describe('As a share: 0.01 is 1 %.'),
        on_correction: z.enum(['notify_owner', 'send']),
      })
      .nullable()
      .describe('null: delivered figures are not watched.'),
    split: z
      .object({
        by: z.string().describe('The dimension.'),
        to: z.array(z.object({ value: z.string(), recipients: z.array(z.string()).readonly() })).readonly(),
        others: z
          .union([z.enum(['hold', 'skip']), z.array(z.string()).readonly()])
          .describe('What happens to the pack of a value that is not in `to`, or who gets it.'),
      })
      .nullable()
      .describe('Each value gets its own pack; null: one pack for all.'),
    schedules: z
      .array(
        z.object({
          words: z
            .string()
            .describe('In words, in the schedule’s own zone.')
            .meta({ example: 'at 08:00, only on Monday' }),
          line: z.string().describe('The text of the definition on one line.').meta({ example: '0 8 * * MON' }),
          timezone: z.string(),
        }),
      )
      .readonly()
      .describe('Empty: on demand only.'),
    outputs: z.array(z.object({ format: z.string(), name: textOrNull })).readonly(),
    deliveries: z
      .array(
        z.object({
          kind: z.string().meta({ example: 'email' }),
          recipients: z
            .array(z.string())
            .readonly()
            .describe('Addresses, or where the files go; templates as written.'),
          formats: z.array(z.string()).readonly().describe('The attached files; empty: none.'),
          body: textOrNull.describe('Which e-mail body; null for other kinds.'),
          send_if: textOrNull.describe('The condition of the definition; null: always.'),
        }),
      )
      .readonly(),
    sections: z
      .array(
        z.object({
          id: z.string(),
          title: z.string(),
          layout: z.string(),
          metrics: z.array(z.object({ id: z.string(), label: textOrNull })).readonly(),
          list: textOrNull.describe('The list that it exports instead of metrics.'),
          dimensions: z.array(z.object({ id: z.string(), label: textOrNull })).readonly(),
          granularity: textOrNull,
          filters: z
            .array(z.object({ dimension: z.string(), op: z.string(), values: z.array(z.string()).readonly() }))
            .readonly(),
          limit: z.int().nullable(),
          chart: textOrNull,
          period: periodSpecSchema.nullable().describe('Its own; null: the report’s.'),
          compare: z.array(z.enum(COMPARISON_KINDS)).readonly().nullable().describe('Its own; null: the report’s.'),
          commentary: z
            .enum(['required', 'required_if_breached', 'required_if_watch', 'optional'])
            .nullable()
            .describe('Whether it needs a comment of its period; null: the definition does not say.'),
        }),
      )
      .readonly(),
    targets: z
      .array(
        z.object({
          metric: z.string(),
          label: textOrNull,
          where: z.record(z.string(), z.string()).nullable(),
          per: textOrNull,
          better: z.enum(['higher', 'lower']),
          target: z.union([z.number(), z.string()]).nullable(),
          watch: z.union([z.number(), z.string()]).nullable(),
          from: textOrNull.describe('Its first day; null: from the beginning.'),
          source: z.enum(['organization', 'report']),
        }),
      )
      .readonly()
      .describe('Targets of the report’s metrics: those in force today, and later ones.'),
  })
  .meta({ id: 'ReportOutline' });
export type ReportOutline = z.output<typeof reportOutlineSchema>;

/** @param now epoch ms; determines which targets apply */
export function outlineReport({ definition, settings }: FrozenDefinition, now: number): ReportOutline {
  const { period, compare = [], to_date, on_incomplete, outputs } = definition;
  const { labels = {} } = mergeDisplay(definition, settings);
  const timezone = definition.timezone ?? settings.timezone;
  const labelOf = (id: string): string | null => labels[id] ?? null;
  const named = (id: string) => ({ id, label: labelOf(id) });
  return {
    period,
    compare,
    to_date: to_date ?? null,
    on_incomplete,
    approval: outlineApproval(definition.approval),
    corrections: outlineCorrections(definition.corrections),
    split: outlineSplit(definition.split),
    schedules: definition.schedule.map((schedule) => ({
      words: scheduleWords(schedule),
      line: formatSchedule(schedule),
      timezone: schedule.timezone ?? settings.timezone,
    })),
    outputs: outputs.map(({ format, name }) => ({ format, name: name ?? null })),
    deliveries: definition.deliveries.map((delivery) => outlineDelivery(delivery, definition)),
    sections: definition.sections.map((section) => outlineSection(section, named)),
    targets: currentTargets(definition, settings.targets, localDay(now, timezone)).map((target) => ({
      metric: target.metric,
      label: labelOf(target.metric),
      where: target.where ?? null,
      per: target.per ?? null,
      better: target.better,
      target: target.target ?? null,
      watch: target.watch ?? null,
      from: target.from ?? null,
      source: target.source,
    })),
  };
}

const outlineApproval = (approval: Definition['approval']): ReportOutline['approval'] =>
  approval === undefined
    ? null
    : {
        by: approval.by,
        need: approval.need,
        four_eyes: approval.four_eyes,
        within: approval.within ?? null,
        otherwise: approval.otherwise,
      };

const outlineCorrections = (corrections: Definition['corrections']): ReportOutline['corrections'] =>
  corrections === undefined ? null : { ...corrections, watch: formatDurationLiteral(corrections.watch) };

const outlineSplit = (split: Definition['split']): ReportOutline['split'] =>
  split === undefined
    ? null
    : {
        by: split.by,
        to: [...splitRecipients(split)].map(([value, recipients]) => ({ value, recipients })),
        others: split.others,
      };

function outlineCommentary(commentary: Section['commentary']): ReportOutline['sections'][number]['commentary'] {
  if (commentary === undefined) return null;
  if (commentary.required === true) return 'required';
  const { required_if: status } = 'required_if' in commentary ? commentary : {};
  return status === undefined ? 'optional' : `required_if_${status}`;
}

/** Describes a schedule: `at 08:00, only on Monday`, and rules that move the day. */
export function scheduleWords({ cron, on, shift, start, end }: Schedule): string {
  const { mail } = messagesFor(DEFAULT_LOCALE);
  return [
    describeCron(cron, DEFAULT_LOCALE),
    on === undefined ? '' : mail.businessDay(on.business_day),
    shift === undefined ? '' : mail.shifted(shift),
    start === undefined ? '' : `from ${start}`,
    end === undefined ? '' : `to ${end}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}

function outlineDelivery(delivery: DeliverySpec, { outputs }: Pick<Definition, 'outputs'>) {
  const { kind, addresses, attach, body } = describeDelivery(delivery, TARGETS);
  // A target without messages delivers all files to its place.
  const sendsMessage = TARGETS.some((target) => target.kind === kind && target.messageType !== undefined);
  return {
    kind,
    recipients: addresses,
    formats: attach ?? (sendsMessage ? [] : outputs.map(({ format }) => format)),
    body: body ?? null,
    send_if: delivery.send_if ?? null,
  };
}

type NameId = (id: string) => { readonly id: string; readonly label: string | null };

const outlineSection = (section: Section, named: NameId): ReportOutline['sections'][number] => ({
  id: section.id,
  title: section.title ?? section.id,
  layout: section.layout ?? 'table',
  metrics: (section.metrics ?? []).map(named),
  list: section.list ?? null,
  dimensions: (section.dimensions ?? []).map(named),
  granularity: section.granularity ?? null,
  filters: (section.filters ?? []).map(({ dimension, op, values }) => ({ dimension, op, values })),
  limit: section.limit ?? null,
  chart: section.chart === undefined ? null : chartAsked(section.chart).kind,
  period: section.period ?? null,
  compare: section.compare ?? null,
  commentary: outlineCommentary(section.commentary),
});

/** For each target of the report's metrics: the entry that applies on a day, and later ones. */
function currentTargets(
  { sections, targets }: Definition,
  ofOrganization: Parameters<typeof reportTargets>[0],
  day: string,
): readonly SourcedTarget[] {
  const metrics = new Set(sections.flatMap((section) => section.metrics ?? []));
  const byKey = new Map<string, SourcedTarget[]>();
  for (const target of reportTargets(ofOrganization, targets)) {
    if (!metrics.has(target.metric)) continue;
    byKey.set(targetKey(target), [...(byKey.get(targetKey(target)) ?? []), target]);
  }
  return [...byKey.values()].flatMap((entries) => {
    const held = heldTarget(entries, day);
    return entries.filter((entry) => entry === held || (entry.from ?? '') > day);
  });
}
