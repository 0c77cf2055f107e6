import { DateTime } from 'luxon';
import { toDocketError } from '../../base/error.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { Diagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import { resolveRunPeriods } from '../../definitions/periods/period.ts';
import { buildTimetable, jitterMs, nextReportSlots, type Slot } from '../../definitions/schedules/slots.ts';
import { dataReadyMs, type OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition } from '../../definitions/schema/report-definition.ts';
import { formatDurationLiteral } from '../../definitions/schema/values/durations.ts';
import type { PartialValue } from '../../definitions/yaml/check-schema.ts';
import { diagnosticAt } from '../../definitions/yaml/parse-yaml.ts';
import type { SourceFile } from '../../definitions/yaml/source-file.ts';
import type { ExplainDocument } from '../../plan/explain.ts';
import { preparedCalls } from '../../plan/prepare.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { planRun } from '../definitions/plan-run.ts';

/** What will be prepared for a slot. Plain data. */
export type PreparationView = NonNullable<ExplainDocument['prepare']>;

/** How many slots to search for a prepared one. */
const SEARCHED_SLOTS = 20;
/** How many prepared slots to search for one with calls to prepare. */
const COMPARED_SLOTS = 3;
/** Below this many seconds, the service may still return a response from before the end of the day. */
const SHORT_DATA_READY_S = 61 * 60;

function preparedSlots(definition: Definition, settings: OrgSettings, now: number): readonly Slot[] {
  if (definition.schedule.every(({ prepare }) => prepare === undefined)) return [];
  return nextReportSlots(buildTimetable(definition, settings), now, SEARCHED_SLOTS).filter(
    ({ schedule }) => schedule.prepare !== undefined,
  );
}

/** Throws `plan.invalid`. */
function viewSlot(
  { definition, settings }: FrozenDefinition,
  { at, schedule }: Slot,
  catalog: Catalog,
): PreparationView {
  const begins = at + jitterMs(definition.org, definition.report, at, schedule);
  const { calls: all } = planRun(
    { definition, settings },
    resolveRunPeriods(definition, settings, at),
    catalog,
    begins,
  );
  const from = begins - (schedule.prepare ?? 0) * 1000;
  const { calls, others } = preparedCalls({ calls: all }, { from, begins, dataReadyMs: dataReadyMs(settings) });
  return {
    slot: new Date(at).toISOString(),
    begins: new Date(begins).toISOString(),
    calls: calls.length,
    of: all.length,
    from: calls.length === 0 ? null : new Date(Math.min(...calls.map((one) => one.from))).toISOString(),
    others: others.map(({ call, why }) => ({ call: call.id, why })),
  };
}

/** What will be prepared for the next slot with `prepare`; undefined if there is none. Throws `plan.invalid`. */
export function viewPreparation(frozen: FrozenDefinition, catalog: Catalog, now: number): PreparationView | undefined {
  const [slot] = preparedSlots(frozen.definition, frozen.settings, now);
  return slot && viewSlot(frozen, slot, catalog);
}

/** Warnings about `prepare` in valid reports. Without a catalog, only those that follow from the periods. */
export function preparationWarnings(
  { value: definition, source, lost }: PartialValue<Definition>,
  settings: OrgSettings,
  catalog: Catalog | undefined,
  now: number,
): Diagnostic[] {
  if (lost.length > 0) return [];
  const slots = preparedSlots(definition, settings, now).slice(0, COMPARED_SLOTS);
  if (slots.length === 0) return [];
  if (slots.some((slot) => hasPreparedCalls(definition, settings, slot, catalog))) return [];
  const index = definition.schedule.findIndex(({ prepare }) => prepare !== undefined);
  // A single schedule may be written without a list.
  const listed = source.tree?.fields?.get('schedule')?.value?.items !== undefined;
  const ready = formatDurationLiteral(dataReadyMs(settings) / 1000);
  return [
    diagnosticAt(source, listed ? ['schedule', index, 'prepare'] : ['schedule', 'prepare'], {
      code: 'prepare.nothing',
      expected: `figures that are complete before the slot: days that end at least ${ready} ("data_ready") before it`,
      got: 'current counts, lists, or days that are not complete by then',
      next: 'remove "prepare", move the slot, or choose a period that has ended',
    }),
  ];
}

function hasPreparedCalls(
  definition: Definition,
  settings: OrgSettings,
  slot: Slot,
  catalog: Catalog | undefined,
): boolean {
  if (catalog !== undefined) {
    try {
      return viewSlot({ definition, settings }, slot, catalog).calls > 0;
    } catch (thrown) {
      // `docket check` already reports errors of the plan, so no second diagnostic is needed.
      if (toDocketError(thrown).code === 'plan.invalid') return true;
      throw thrown;
    }
  }
  const { period, sectionPeriods = {} } = resolveRunPeriods(definition, settings, slot.at);
  const begins = slot.at + jitterMs(definition.org, definition.report, slot.at, slot.schedule);
  return definition.sections.some(({ id, metrics }) => {
    if (metrics === undefined) return false;
    const { to, timezone } = sectionPeriods[id] ?? period;
    const ends = DateTime.fromISO(to, { zone: timezone }).plus({ days: 1 }).startOf('day').toMillis();
    return ends + dataReadyMs(settings) < begins;
  });
}

/** Warnings about a `data_ready` so short that a prepared response may be older than the figures. */
export function dataReadyWarnings(source: SourceFile | undefined, { data_ready }: OrgSettings): Diagnostic[] {
  if (source === undefined || data_ready === undefined || data_ready >= SHORT_DATA_READY_S) return [];
  return [
    diagnosticAt(source, ['data_ready'], {
      code: 'prepare.early',
      expected: '61m or more: the service may serve an answer for an hour, also one of before the day was complete',
      got: formatDurationLiteral(data_ready),
      next: 'raise it, or leave it out for 70m',
    }),
  ];
}
