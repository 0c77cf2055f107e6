import { createHash } from 'node:crypto';
import type { DocketError } from '../../base/error.ts';
import { addressKey, recipientRefusal } from '../allow-lists/recipients.ts';
import { calendarDiagnostics } from '../diagnostics/calendar-diagnostics.ts';
import { deliveryDiagnostics } from '../diagnostics/delivery-diagnostics.ts';
import { type Diagnostic, describeValue, fileDiagnostic } from '../diagnostics/diagnostic.ts';
import {
  conditionDiagnostics,
  fiscalCalendarDiagnostics,
  scheduleDiagnostics,
} from '../diagnostics/report-diagnostics.ts';
import { type OrgFile, type OrgSettings, orgFileSchema } from '../schema/org-settings.ts';
import { type Definition, type ReportFile, reportFileSchema } from '../schema/report-definition.ts';
import { diagnosticAt, limitDiagnostics, parseYaml } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';

/** An organization's settings, and the text of which they and the digests of its reports are made. */
export interface LoadedOrg {
  readonly text: string;
  readonly settings: OrgSettings;
}

/** Why a report cannot run here although its file has no fault, e.g. because no mail server is set; undefined when it can. */
export type AdmissionCheck = (definition: Definition, settings: OrgSettings) => DocketError | undefined;

/** What came of a report's text. */
export interface ParsedReport {
  readonly source: SourceFile;
  /** Absent when the text has a fault, or its organization has. */
  readonly definition?: Definition;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * A report's text, read as a report of its organization.
 * @param file as faults name it
 * @param of undefined: the organization's settings cannot be read; only the text itself is checked
 */
export function parseReport(
  text: string,
  file: string,
  name: { readonly org: string; readonly report: string },
  of: LoadedOrg | undefined,
): ParsedReport {
  const { source, value, diagnostics } = parseYaml(file, text, reportFileSchema);
  if (value === undefined) return { source, diagnostics };
  const all = [
    ...diagnostics,
    ...recipientDiagnostics(source, value, of?.settings),
    ...conditionDiagnostics(source, value),
    ...scheduleDiagnostics(source, value, of?.settings),
    ...fiscalCalendarDiagnostics(source, value, of?.settings),
    ...deliveryDiagnostics(source, name, value, of?.settings),
  ];
  if (of === undefined || all.length > 0) return { source, diagnostics: limitDiagnostics(source, all) };
  // With its name: of a copied file each is a version of its own, and what is kept under its digest is this report.
  const digest = createHash('sha256')
    .update(JSON.stringify([name.org, name.report, text, of.text]))
    .digest('hex');
  const definition = deepFreeze({ ...value, ...name, digest });
  return { source, definition, diagnostics: [] };
}

/** What was read, if the definition may run here. */
export function applyAdmissionCheck(
  { source, definition, diagnostics }: ParsedReport,
  of: LoadedOrg | undefined,
  refuse?: AdmissionCheck,
): ParsedReport {
  if (definition === undefined || of === undefined) return { source, diagnostics };
  const refused = refuse?.(definition, of.settings);
  // Of another thread it comes as a copy, which is not frozen.
  if (refused === undefined) return { source, definition: deepFreeze(definition), diagnostics };
  const { message, expected = 'a report that can run here', got = 'one that cannot', next = 'correct it' } = refused;
  return { source, diagnostics: [{ ...fileDiagnostic(source.file, expected, got, next), message }] };
}

/** Recipients that the organization does not allow. Without its settings only what is no address at all can be told. */
function recipientDiagnostics(source: SourceFile, report: ReportFile, settings: OrgSettings | undefined): Diagnostic[] {
  return report.deliveries.flatMap((delivery, index) =>
    (delivery.email?.to ?? []).flatMap((address, position) => {
      const path = ['deliveries', index, 'email', 'to', position];
      if (addressKey(address) === undefined) {
        return diagnosticAt(source, path, {
          expected: 'a plain e-mail address (name@domain.example)',
          got: describeValue(address),
          next: 'write the address alone, without a display name',
        });
      }
      if (settings === undefined || recipientRefusal(address, settings.recipients) === undefined) return [];
      return diagnosticAt(source, path, {
        message: 'a recipient outside the allow-list',
        expected: "one of the organization's recipients",
        got: describeValue(address),
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

/** What came of the text of an `org.yaml`. */
export interface ParsedSettings {
  readonly source: SourceFile;
  /** Absent when the text itself has a fault. */
  readonly value?: OrgFile;
  readonly diagnostics: readonly Diagnostic[];
}

/** How texts are read and checked: here, or in a thread that limits what it costs. */
export interface DefinitionParser {
  report(
    text: string,
    file: string,
    name: { readonly org: string; readonly report: string },
    of: LoadedOrg | undefined,
  ): ParsedReport | Promise<ParsedReport>;
  settings(text: string, file: string): ParsedSettings | Promise<ParsedSettings>;
}

/** An `org.yaml`, all but the picture that it names. */
export function parseSettings(text: string, file: string): ParsedSettings {
  const { source, value, diagnostics } = parseYaml(file, text, orgFileSchema);
  return value === undefined
    ? { source, diagnostics }
    : { source, value, diagnostics: calendarDiagnostics(source, value) };
}

/** Reads in this thread, however long it takes. */
export const inProcessParser: DefinitionParser = { report: parseReport, settings: parseSettings };
