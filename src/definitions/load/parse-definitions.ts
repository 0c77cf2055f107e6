import { createHash } from 'node:crypto';
import type { DocketError } from '../../base/error.ts';
import { addressKey, recipientRefusal } from '../allow-lists/recipients.ts';
import { calendarDiagnostics, displayDiagnostics } from '../diagnostics/calendar-diagnostics.ts';
import { deliveryDiagnostics } from '../diagnostics/delivery-diagnostics.ts';
import { comparePositions, type Diagnostic, describeValue, fileDiagnostic } from '../diagnostics/diagnostic.ts';
import {
  conditionDiagnostics,
  fiscalCalendarDiagnostics,
  headlineDiagnostics,
  scheduleDiagnostics,
} from '../diagnostics/report-diagnostics.ts';
import { peopleDiagnostics, reviewDiagnostics } from '../diagnostics/review-diagnostics.ts';
import { splitDiagnostics } from '../diagnostics/split-diagnostics.ts';
import { type DefinitionKinds, describeDelivery } from '../schema/kinds.ts';
import { type OrgFile, type OrgSettings, orgFileSchema } from '../schema/org-settings.ts';
import { outputFiles } from '../schema/outputs.ts';
import { createReportSchema, type Definition, type ReportFile } from '../schema/report-definition.ts';
import { type TargetsFile, targetsFileSchema } from '../schema/targets.ts';
import { isPrefix, type PartialValue, type StandIns } from '../yaml/check-schema.ts';
import { isStandIn } from '../yaml/edit-value.ts';
import { diagnosticAt, limitDiagnostics, parseYaml } from '../yaml/parse-yaml.ts';
import { type Location, locate, type SourceFile, type ValuePath } from '../yaml/source-file.ts';

/** An organization's settings, and the text that they and the digests of its reports are made from. */
export interface LoadedOrg {
  readonly text: string;
  readonly settings: OrgSettings;
}

/** Why a report cannot run here although its file is valid, e.g. because no mail server is set; undefined if it can. */
export type AdmissionCheck = (definition: Definition, settings: OrgSettings) => DocketError | undefined;

/** The result of parsing a report's text. */
export interface ParsedReport {
  readonly source: SourceFile;
  /** Absent if the text or its organization has an error. */
  readonly definition?: Definition;
  /** For a text with errors: what can still be compared with the catalog. It never runs. */
  readonly partial?: PartialValue<Definition>;
  readonly diagnostics: readonly Diagnostic[];
  /** The files in the folder of `org.yaml` that its outputs name. Absent: none, or the text has errors. */
  readonly files?: readonly NamedFile[];
}

/** A valid version of a report. */
export interface LoadedReport {
  readonly definition: Definition;
  readonly text: string;
  /** SHA-256 (hex) of names and texts, without other files. Equal if parsing would give the same definition. */
  readonly textDigest: string;
  readonly orgText: string;
  readonly source: SourceFile;
}

/** A file that a field of a definition names. */
export interface NamedFile {
  /** As written in the definition, relative to the folder of `org.yaml`. */
  readonly file: string;
  /** Where the definition names it. */
  readonly at: Location;
}

/** Returns the parsed report, if it may run here. */
export function applyAdmissionCheck(
  { source, definition, partial, diagnostics }: ParsedReport,
  of: LoadedOrg | undefined,
  refuse?: AdmissionCheck,
): ParsedReport {
  if (definition === undefined || of === undefined)
    return { source, diagnostics, ...(partial === undefined ? {} : { partial }) };
  const refused = refuse?.(definition, of.settings);
  // Frozen only here, because the parser may be another thread that sends a copy.
  if (refused === undefined) return { source, definition: deepFreeze(definition), diagnostics };
  const { message, expected = 'a report that can run here', got = 'one that cannot', next = 'correct it' } = refused;
  return {
    source,
    diagnostics: [{ ...fileDiagnostic(source.file, expected, got, next), code: 'report.invalid', message }],
  };
}

/**
 * Reports recipients that the organization does not allow. Without its settings, only the form of the addresses is
 * checked.
 */
function recipientDiagnostics(
  source: SourceFile,
  report: ReportFile,
  settings: OrgSettings | undefined,
  { targets }: DefinitionKinds,
): Diagnostic[] {
  return report.deliveries.flatMap((delivery, index) => {
    const { kind, mailboxes = [] } = describeDelivery(delivery, targets);
    return mailboxes.flatMap(({ address, path: field }) => {
      const path = ['deliveries', index, kind, ...field];
      if (addressKey(address) === undefined) {
        return diagnosticAt(source, path, {
          code: 'recipient.invalid',
          expected: 'a plain e-mail address (name@domain.example)',
          got: describeValue(address),
          next: 'write the address alone, without a display name',
        });
      }
      if (settings === undefined || recipientRefusal(address, settings.recipients) === undefined) return [];
      return diagnosticAt(source, path, {
        code: 'recipient.not_allowed',
        message: 'a recipient outside the allow-list',
        expected: "one of the organization's recipients",
        got: describeValue(address),
        next: "remove it, or ask for it to be added to recipients in the organization's org.yaml",
      });
    });
  });
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}

/** The result of parsing the text of an `org.yaml`. */
export interface ParsedSettings {
  readonly source: SourceFile;
  /** Absent if the text itself has an error. */
  readonly value?: OrgFile;
  readonly diagnostics: readonly Diagnostic[];
}

/** The result of parsing the text of a `targets.yaml`. */
export interface ParsedTargets {
  readonly source: SourceFile;
  /** It has `sections`, so it is a report named `targets`, which was possible before targets existed. */
  readonly isReport: boolean;
  /** Absent if the text has an error. */
  readonly value?: TargetsFile;
  readonly diagnostics: readonly Diagnostic[];
}

export interface ReportName {
  readonly org: string;
  readonly report: string;
}

/** A text of a report to parse. */
export interface ReportText {
  readonly text: string;
  /** The name in diagnostics. */
  readonly file: string;
  readonly name: ReportName;
}

/** Parses and checks the texts of definitions, in this thread or in another one that limits time and memory. */
export interface DefinitionParser {
  /**
   * @param file the name in diagnostics
   * @param org undefined: the organization's settings are invalid, so only the text itself is checked
   */
  report(
    text: string,
    file: string,
    name: ReportName,
    org: LoadedOrg | undefined,
  ): ParsedReport | Promise<ParsedReport>;
  /** Parses reports of one organization, in their order. Absent: they are parsed one after the other. */
  reports?(texts: readonly ReportText[], org: LoadedOrg | undefined): Promise<readonly ParsedReport[]>;
  settings(text: string, file: string): ParsedSettings | Promise<ParsedSettings>;
  targets(text: string, file: string): ParsedTargets | Promise<ParsedTargets>;
}

/** A parser that runs in this thread, without limits. */
export interface SyncDefinitionParser extends DefinitionParser {
  report(...args: Parameters<DefinitionParser['report']>): ParsedReport;
  settings(text: string, file: string): ParsedSettings;
  targets(text: string, file: string): ParsedTargets;
}

export function createDefinitionParser(
  kinds: DefinitionKinds,
  reportSchema = createReportSchema(kinds),
): SyncDefinitionParser {
  return {
    report: (text, file, name, org) => {
      const { source, value, partial, diagnostics } = parseYaml(file, text, reportSchema, reportStandIns);
      const read = value === undefined ? partial : { value, source, lost: [] };
      if (read === undefined) return { source, diagnostics };
      const all = [...diagnostics, ...checkRules(read, name, org?.settings, kinds)];
      // The digest includes the name: two reports with the same text are stored under different digests.
      const definition: Definition = { ...read.value, ...name, digest: reportTextDigest(name, text, org?.text) };
      if (org !== undefined && all.length === 0) {
        const files = namedFiles(source, definition, kinds);
        return {
          source,
          definition,
          diagnostics: [],
          ...(files.length === 0 ? {} : { files }),
        };
      }
      return {
        source,
        diagnostics: limitDiagnostics(source, all.sort(comparePositions)),
        ...(org === undefined ? {} : { partial: { ...read, value: definition } }),
      };
    },
    settings: parseSettings,
    targets: parseTargets,
  };
}

/** The digest of a report that names no files. */
export const reportTextDigest = (name: ReportName, text: string, orgText: string | undefined): string =>
  createHash('sha256')
    .update(JSON.stringify([name.org, name.report, text, orgText]))
    .digest('hex');

/** Errors of a report that its schema cannot show, except those that follow from parts that could not be read. */
function checkRules(
  { value, source, lost }: PartialValue<ReportFile>,
  name: { readonly org: string; readonly report: string },
  settings: OrgSettings | undefined,
  kinds: DefinitionKinds,
): Diagnostic[] {
  // A headline or condition may refer to a metric of a section, or to a target, that could not be read.
  const namesKnown = !lost.some(([field]) => field === 'sections' || field === 'targets');
  const found = [
    ...recipientDiagnostics(source, value, settings, kinds),
    ...(namesKnown
      ? [
          ...conditionDiagnostics(source, value, settings),
          ...headlineDiagnostics(source, value),
          ...displayDiagnostics(source, value),
        ]
      : []),
    // All fields of a schedule depend on each other.
    ...(lost.some(([field]) => field === 'schedule') ? [] : scheduleDiagnostics(source, value, settings)),
    ...fiscalCalendarDiagnostics(source, value, settings),
    ...reviewDiagnostics(source, value, settings),
    ...deliveryDiagnostics(source, name, value, settings, kinds),
    ...splitDiagnostics(source, value, kinds),
  ];
  const isLost = (path: ValuePath) => lost.some((each) => isPrefix(each, path));
  return found.filter(({ path = [] }) => !isStandIn(source.tree, path) && !isLost(path));
}

const namedFiles = (source: SourceFile, { outputs, split }: ReportFile, { formats }: DefinitionKinds): NamedFile[] => [
  ...outputs.flatMap((output, index) =>
    outputFiles(output, formats).map(({ path, file }) => ({ file, at: locate(source, ['outputs', index, ...path]) })),
  ),
  ...(typeof split?.to === 'string' ? [{ file: split.to, at: locate(source, ['split', 'to']) }] : []),
];

export function parseTargets(text: string, file: string): ParsedTargets {
  const parsed = parseYaml(file, text, targetsFileSchema, targetsStandIns);
  return { ...parsed, isReport: parsed.source.tree?.fields?.has('sections') === true };
}

/** Parses an `org.yaml` without its logo, which is a separate file. */
export function parseSettings(text: string, file: string): ParsedSettings {
  const { source, value, partial, diagnostics } = parseYaml(file, text, orgFileSchema, orgStandIns);
  const read = value === undefined ? partial : { value, source };
  const rules =
    read === undefined
      ? []
      : [...calendarDiagnostics(read.source, read.value), ...peopleDiagnostics(read.source, read.value)];
  const all = [...diagnostics, ...rules].sort(comparePositions);
  return { source, diagnostics: all, ...(value === undefined ? {} : { value }) };
}

/**
 * Valid values for required fields that are missing or invalid, so that the rest of the file can be checked. They are
 * never shown or used, and findings about them are dropped.
 */
const of =
  (values: Readonly<Record<string, unknown>>): StandIns =>
  (path) =>
    path.length === 1 ? values[String(path[0])] : undefined;

const reportFields = of({
  version: 1,
  title: 'Title',
  owner: 'owner@docket.example',
  period: 'previous_month',
  sections: [{ id: 'stand-in', metrics: ['stand-in'] }],
  outputs: [{ format: 'xlsx' }],
});

const isSectionId = ([list, index, field, more]: ValuePath): boolean =>
  list === 'sections' && index !== undefined && field === 'id' && more === undefined;

const reportStandIns: StandIns = (path) => (isSectionId(path) ? `stand-in-${path[1]}` : reportFields(path));

const targetsStandIns: StandIns = of({ version: 1, targets: [] });

const orgStandIns: StandIns = of({
  version: 1,
  org: 'current',
  api_key: { env: 'STAND_IN' },
  timezone: 'UTC',
  recipients: {},
});
