import { isDeepStrictEqual } from 'node:util';
import { nextReportSlots, timetableOf } from './schedules/slots.ts';
import { type DeliverySpec, deliveryAddresses, TARGET_KINDS } from './schema/deliveries.ts';
import type { OrgSettings } from './schema/org-settings.ts';
import type { Definition } from './schema/report-definition.ts';

/** One version of a report, with its organization as it was then. */
export interface ReportVersion {
  readonly definition: Definition;
  readonly settings: OrgSettings;
}

/** What two versions of a report differ in. Plain data. */
export interface ReportDiff {
  /** Fields of the report's file that differ: `sections`, `schedule`. */
  readonly fields: readonly string[];
  /** Fields of org.yaml that differ. */
  readonly org_fields: readonly string[];
  /** The next slots, ISO in UTC; null when they are the same. */
  readonly slots: { readonly before: readonly string[]; readonly after: readonly string[] } | null;
  /** Addresses of e-mail. */
  readonly recipients: SetChange;
  /** Where else it goes: `s3 s3://bucket/key`. */
  readonly targets: SetChange;
}
export interface SetChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Slots that are shown of each version. */
const DIFF_SLOT_COUNT = 3;

/**
 * What changes from `before` to `after`; a version that is absent has no slots, recipients and targets.
 * @param now epoch ms after which the next slots are
 */
export function diffReports(
  before: ReportVersion | undefined,
  after: ReportVersion | undefined,
  now: number,
): ReportDiff {
  const slots = { before: slotsOf(before, now), after: slotsOf(after, now) };
  const both = before !== undefined && after !== undefined;
  return {
    fields: both ? changedFields(before.definition, after.definition) : [],
    org_fields: both ? changedFields(before.settings, after.settings) : [],
    slots: isDeepStrictEqual(slots.before, slots.after) ? null : slots,
    recipients: diffSets(before, after, ({ email }) => email?.to ?? []),
    targets: diffSets(before, after, (delivery) => {
      const target = TARGET_KINDS.find((kind) => delivery[kind] !== undefined);
      return target === undefined || target === 'email'
        ? []
        : deliveryAddresses(delivery).map((to) => `${target} ${to}`);
    }),
  };
}

function slotsOf(version: ReportVersion | undefined, now: number): string[] {
  if (version === undefined) return [];
  const { definition, settings } = version;
  return nextReportSlots(timetableOf(definition, settings), now, DIFF_SLOT_COUNT).map(({ at }) =>
    new Date(at).toISOString(),
  );
}

function changedFields(before: object, after: object): string[] {
  const [old, fresh] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .filter((name) => name !== 'digest' && !isDeepStrictEqual(old.get(name), fresh.get(name)))
    .sort();
}

function diffSets(
  before: ReportVersion | undefined,
  after: ReportVersion | undefined,
  namesOf: (delivery: DeliverySpec) => readonly string[],
): SetChange {
  const [old, fresh] = [before, after].map((version) => new Set(version?.definition.deliveries.flatMap(namesOf)));
  return {
    added: [...(fresh ?? [])].filter((name) => !old?.has(name)).sort(),
    removed: [...(old ?? [])].filter((name) => !fresh?.has(name)).sort(),
  };
}
