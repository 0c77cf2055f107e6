import { isDeepStrictEqual } from 'node:util';
import { buildTimetable, nextReportSlots } from './schedules/slots.ts';
import { type DefinitionKinds, describeDelivery, type TargetDescription } from './schema/kinds.ts';
import type { OrgSettings } from './schema/org-settings.ts';
import type { Definition } from './schema/report-definition.ts';

/** One version of a report, with its organization at that time. */
export interface ReportVersion {
  readonly definition: Definition;
  readonly settings: OrgSettings;
}

/** The differences between two versions of a report. Plain data. */
export interface ReportDiff {
  /** Fields of the report's file that differ: `sections`, `schedule`, … `files`: the content of a template differs. */
  readonly fields: readonly string[];
  /** Fields of org.yaml that differ. */
  readonly org_fields: readonly string[];
  /** The next slots, ISO in UTC; null if they are the same. */
  readonly slots: { readonly before: readonly string[]; readonly after: readonly string[] } | null;
  /** E-mail addresses. */
  readonly recipients: SetChange;
  /** Other destinations, e.g. `s3 s3://bucket/key`. */
  readonly targets: SetChange;
}
export interface SetChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

type DescribedDelivery = TargetDescription & { readonly kind: string };

/** How many slots of each version are shown. */
const DIFF_SLOT_COUNT = 3;

/**
 * Compares two versions of a report. An absent version has no slots, recipients and targets.
 * @param now epoch ms; the next slots are those after it
 */
export function diffReports(
  before: ReportVersion | undefined,
  after: ReportVersion | undefined,
  now: number,
  { targets }: Pick<DefinitionKinds, 'targets'>,
): ReportDiff {
  const slots = { before: collectSlots(before, now), after: collectSlots(after, now) };
  const diff = (namesOf: (delivery: DescribedDelivery) => readonly string[]): SetChange => {
    const [old, current] = [before, after].map((version) =>
      version?.definition.deliveries.flatMap((delivery) => namesOf(describeDelivery(delivery, targets))),
    );
    return diffSets(new Set(old), new Set(current));
  };
  const both = before !== undefined && after !== undefined;
  return {
    fields: both ? changedFields(before.definition, after.definition) : [],
    org_fields: both ? changedFields(before.settings, after.settings) : [],
    slots: isDeepStrictEqual(slots.before, slots.after) ? null : slots,
    recipients: diff(({ mailboxes = [] }) => mailboxes.map(({ address }) => address)),
    targets: diff(({ kind, mailboxes, addresses }) =>
      mailboxes === undefined ? addresses.map((to) => `${kind} ${to}`) : [],
    ),
  };
}

function collectSlots(version: ReportVersion | undefined, now: number): string[] {
  if (version === undefined) return [];
  const { definition, settings } = version;
  return nextReportSlots(buildTimetable(definition, settings), now, DIFF_SLOT_COUNT).map(({ at }) =>
    new Date(at).toISOString(),
  );
}

function changedFields(before: object, after: object): string[] {
  const [old, fresh] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .filter((name) => name !== 'digest' && !isDeepStrictEqual(old.get(name), fresh.get(name)))
    .sort();
}

const diffSets = (before: ReadonlySet<string>, after: ReadonlySet<string>): SetChange => ({
  added: [...after].filter((name) => !before.has(name)).sort(),
  removed: [...before].filter((name) => !after.has(name)).sort(),
});
