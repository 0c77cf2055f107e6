import { createHash } from 'node:crypto';
import type { DocketError } from '../base/error.ts';
import { conditionFaults } from './condition-faults.ts';
import { type Definition, type ReportFile, reportFileSchema } from './definition.ts';
import { atStart, type Fault, show } from './fault.ts';
import type { OrgSettings } from './org.ts';
import { faultAt, firstFaults, parseSource } from './parse.ts';
import { addressKey, recipientFault } from './recipients.ts';
import { reckoningFaults } from './reckoning-faults.ts';
import { scheduleFaults } from './schedule-faults.ts';
import type { Source } from './source.ts';
import { targetFaults } from './target-faults.ts';

/** An organization's settings, and the text of which they and the digests of its reports are made. */
export interface LoadedOrg {
  readonly text: string;
  readonly settings: OrgSettings;
}

/** Why a report cannot run here although its file has no fault, e.g. because no mail server is set; undefined when it can. */
export type Refuse = (definition: Definition, settings: OrgSettings) => DocketError | undefined;

/** What came of a report's text. */
export interface ReportOf {
  readonly source: Source;
  /** Absent when the text has a fault, or its organization has. */
  readonly definition?: Definition;
  readonly faults: readonly Fault[];
}

/**
 * A report's text, read as a report of its organization.
 * @param file as faults name it
 * @param of undefined: the organization's settings cannot be read; only the text itself is checked
 */
export function reportOf(
  text: string,
  file: string,
  name: { readonly org: string; readonly report: string },
  of: LoadedOrg | undefined,
): ReportOf {
  const { source, value, faults } = parseSource(file, text, reportFileSchema);
  if (value === undefined) return { source, faults };
  const all = [
    ...faults,
    ...recipientFaults(source, value, of?.settings),
    ...conditionFaults(source, value),
    ...scheduleFaults(source, value, of?.settings),
    ...reckoningFaults(source, value, of?.settings),
    ...targetFaults(source, name, value, of?.settings),
  ];
  if (of === undefined || all.length > 0) return { source, faults: firstFaults(source, all) };
  // With its name: of a copied file each is a version of its own, and what is kept under its digest is this report.
  const digest = createHash('sha256')
    .update(JSON.stringify([name.org, name.report, text, of.text]))
    .digest('hex');
  const definition = deepFreeze({ ...value, ...name, digest });
  return { source, definition, faults: [] };
}

/** What was read, if the definition may run here. */
export function admit({ source, definition, faults }: ReportOf, of: LoadedOrg | undefined, refuse?: Refuse): ReportOf {
  if (definition === undefined || of === undefined) return { source, faults };
  const refused = refuse?.(definition, of.settings);
  // Of another thread it comes as a copy, which is not frozen.
  if (refused === undefined) return { source, definition: deepFreeze(definition), faults };
  const { message, expected = 'a report that can run here', got = 'one that cannot', next = 'correct it' } = refused;
  return { source, faults: [{ ...atStart(source.file, expected, got, next), message }] };
}

/** Recipients that the organization does not allow. Without its settings only what is no address at all can be told. */
function recipientFaults(source: Source, report: ReportFile, settings: OrgSettings | undefined): Fault[] {
  return report.deliveries.flatMap((delivery, index) =>
    (delivery.email?.to ?? []).flatMap((address, position) => {
      const path = ['deliveries', index, 'email', 'to', position];
      if (addressKey(address) === undefined) {
        return faultAt(source, path, {
          expected: 'a plain e-mail address (name@domain.example)',
          got: show(address),
          next: 'write the address alone, without a display name',
        });
      }
      if (settings === undefined || recipientFault(address, settings.recipients) === undefined) return [];
      return faultAt(source, path, {
        message: 'a recipient outside the allow-list',
        expected: "one of the organization's recipients",
        got: show(address),
        next: "remove it, or have it added to recipients in the organization's org.yaml",
      });
    }),
  );
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}
