import { isDeepStrictEqual } from 'node:util';
import type { Definition } from './definition.ts';
import type { OrgSettings } from './org.ts';
import { nextReportSlots, timetableOf } from './slots.ts';
import { addressesOf, type DeliverySpec, TARGETS } from './target.ts';

/** One version of a report, with its organization as it was then. */
export interface ReportVersion {
  readonly definition: Definition;
  readonly settings: OrgSettings;
}

/** What two versions of a report differ in. Plain data. */
export interface ReportDifference {
  /** Fields of the report's file that differ: `sections`, `schedule`. */
  readonly fields: readonly string[];
  /** Fields of org.yaml that differ. */
  readonly org_fields: readonly string[];
  /** The next slots, ISO in UTC; null when they are the same. */
  readonly slots: { readonly before: readonly string[]; readonly after: readonly string[] } | null;
  /** Addresses of e-mail. */
  readonly recipients: Change;
  /** Where else it goes: `s3 s3://bucket/key`. */
  readonly targets: Change;
}
export interface Change {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Slots that are shown of each version. */
const SLOTS = 3;

/**
 * What changes from `before` to `after`; a version that is absent has no slots, recipients and targets.
 * @param now epoch ms after which the next slots are
 */
export function differenceOf(
  before: ReportVersion | undefined,
  after: ReportVersion | undefined,
  now: number,
): ReportDifference {
  const slots = { before: slotsOf(before, now), after: slotsOf(after, now) };
  const both = before !== undefined && after !== undefined;
  return {
    fields: both ? fieldsOf(before.definition, after.definition) : [],
    org_fields: both ? fieldsOf(before.settings, after.settings) : [],
    slots: isDeepStrictEqual(slots.before, slots.after) ? null : slots,
    recipients: changeOf(before, after, ({ email }) => email?.to ?? []),
    targets: changeOf(before, after, (delivery) => {
      const target = TARGETS.find((kind) => delivery[kind] !== undefined);
      return target === undefined || target === 'email' ? [] : addressesOf(delivery).map((to) => `${target} ${to}`);
    }),
  };
}

function slotsOf(version: ReportVersion | undefined, now: number): string[] {
  if (version === undefined) return [];
  const { definition, settings } = version;
  return nextReportSlots(timetableOf(definition, settings), now, SLOTS).map(({ at }) => new Date(at).toISOString());
}

function fieldsOf(before: object, after: object): string[] {
  const [old, fresh] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .filter((name) => name !== 'digest' && !isDeepStrictEqual(old.get(name), fresh.get(name)))
    .sort();
}

function changeOf(
  before: ReportVersion | undefined,
  after: ReportVersion | undefined,
  namesOf: (delivery: DeliverySpec) => readonly string[],
): Change {
  const [old, fresh] = [before, after].map((version) => new Set(version?.definition.deliveries.flatMap(namesOf)));
  return {
    added: [...(fresh ?? [])].filter((name) => !old?.has(name)).sort(),
    removed: [...(old ?? [])].filter((name) => !fresh?.has(name)).sort(),
  };
}
