import { createWriteStream, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { SecretRef } from '../../base/secrets/secret.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { Diagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import { type Logo, readLogo } from '../../definitions/load/logo.ts';
import type { FiscalCalendar } from '../../definitions/periods/fiscal-calendar.ts';
import type { FormatSchema, Output } from '../../definitions/schema/kinds.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Definition, ReportFile } from '../../definitions/schema/report-definition.ts';
import type { TemplateView } from '../../definitions/schema/template-view.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import type { Artifact, ArtifactPart, FilledWorkbook } from '../artifact.ts';
import type { NameVariables } from '../file-names.ts';

/** A file of an output, before it is written. */
export interface PlannedFile {
  /** Final file name, safe on every system. */
  readonly name: string;
  /** The name of the format in manifests. */
  readonly format: string;
  readonly mediaType: string;
  /** Absent for the output's own files. */
  readonly part?: ArtifactPart;
  /** Names the file in the error about two files with one name, e.g. `the workbook`. */
  readonly label: string;
  /**
   * Writes the file to `path`, which must not exist. `earlier` are the files of the plan that are already finished.
   * @returns what was filled in a template, if the file is made from one
   */
  readonly write: (path: string, earlier: readonly Artifact[]) => Promise<void> | Promise<FilledWorkbook | undefined>;
}

/** The parts of a definition that the template of a workbook uses: plain data, which can be sent to another thread. */
export type TemplateDefinition = Pick<
  ReportFile,
  'sections' | 'compare' | 'to_date' | 'units' | 'labels' | 'approval' | 'corrections'
> &
  Partial<Pick<Definition, 'on_incomplete' | 'files'>>;

/** What is needed to create the files of a report. */
export interface FormatContext {
  readonly variables: NameVariables;
  /** The run's id. */
  readonly run: string;
  /** SHA-256 (hex) of the definition. */
  readonly digest: string;
  /** Epoch ms: the creation time that every file shows. */
  readonly madeAt: number;
  /** BCP 47. Default: `en-GB`. */
  readonly locale?: string | undefined;
  /** Path of a PNG or JPEG. */
  readonly logo?: string | undefined;
  /** E.g. `Confidential`. */
  readonly classification?: string | undefined;
  /** Folder of the organization's own templates, from `DOCKET_TEMPLATES`. */
  readonly templates?: string | undefined;
  /** The folder of the organization's `org.yaml`. It contains the files that outputs name. */
  readonly orgFolder?: string | undefined;
  /** The parts of the definition that the template of a workbook uses; absent if no output has one. */
  readonly definition?: TemplateDefinition | undefined;
  /** The organization's fiscal calendar, for sentences about changes. */
  readonly calendar?: FiscalCalendar | undefined;
  /** The formats of all outputs of the report. */
  readonly outputs?: readonly string[] | undefined;
  /** The secrets of this output by the keys that `secrets` returned, revealed. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** A report with an output that is made from a file of its organization. */
export interface FileReport {
  readonly definition: Definition;
  readonly settings: Pick<OrgSettings, 'readings' | 'units' | 'labels'>;
  /** The folder of `org.yaml`. */
  readonly folder: string;
  /** Absent: labels are not checked. */
  readonly catalog?: Catalog | undefined;
}

export interface FileDiagnostics {
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
}

/** Checks and shows the organization's file that an output is made from. */
export interface OutputFileTools {
  /**
   * Reports what in the file does not match the report. A file that cannot be read is skipped: loading the definition
   * has reported it.
   */
  check(output: Output, report: FileReport): Promise<FileDiagnostics>;
  /** Shows which part of the file gets which data. A file that cannot be used is reported as a problem. */
  view(output: Output, report: FileReport): Promise<TemplateView>;
  /** Writes the view in lines, for `docket explain`. */
  lines(view: TemplateView): readonly string[];
}

/**
 * An output format. Once registered, it is known to the JSON Schema, `docket check`, rendering, delivery and the
 * archive. Modules that import this one must load quickly, so import the renderer inside `render`.
 */
export interface Format<Spec = never> extends FormatSchema<Spec> {
  /** Secrets of the output. They are revealed before the first API call. */
  secrets?(output: Spec): Readonly<Record<string, SecretRef>>;
  /** Plans the output's files, in the order in which they are written. */
  render(dataset: Dataset, output: Spec, context: FormatContext): Promise<readonly PlannedFile[]>;
  /** Only for a format with `files`. */
  fileTools?(): Promise<OutputFileTools>;
  /** One file that an e-mail attaches in place of the planned ones; undefined if it is not needed. */
  bundle?(files: readonly PlannedFile[], context: FormatContext): Promise<PlannedFile | undefined>;
}

/** Finds the format of an output. Throws if it is not registered. */
export function resolveFormat(
  output: Output,
  formats: readonly Format[],
): { readonly format: Format; readonly spec: never } {
  const format = formats.find((each) => each.format === output.format);
  if (format === undefined) throw new Error(`No format is registered for ${output.format}.`);
  // Definitions are parsed with the same registry, so the output is what this format's schema returned.
  return { format, spec: output as never };
}

function* resume(taken: readonly IteratorResult<string>[], rest: Iterator<string>): Iterable<string> {
  for (const { done, value } of taken) if (!done) yield value;
  yield* { [Symbol.iterator]: () => rest };
}

/**
 * Writes chunks to a new file as they are produced, no faster than the disk. A single text is written at once, without
 * a stream. `path` must not exist. Throws the signal's reason when aborted.
 */
export async function writeChunks(
  path: string,
  chunks: Iterable<string> | AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  let rest: Iterator<string> | undefined;
  try {
    signal.throwIfAborted();
    if (Symbol.iterator in chunks) {
      rest = chunks[Symbol.iterator]();
      const [first, second] = [rest.next(), rest.next()];
      if (second.done) return writeFileSync(path, first.done ? '' : first.value, { flag: 'wx' });
      chunks = resume([first, second], rest);
    }
    await pipeline(chunks, createWriteStream(path, { flags: 'wx' }), { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    // Closes the file that it reads rows from, even if the pipeline has not reached its end.
    rest?.return?.();
  }
}

/**
 * The organization's logo, or why the pack has none, as text for its record. Both absent: the organization has no logo.
 */
export interface CurrentLogo {
  readonly image?: Logo;
  readonly leftOut?: string;
}

/**
 * Reads the organization's logo again, because the file may have changed since the definitions were checked. An
 * unusable file does not stop the report: `docket check` and each reload report it.
 */
export async function readCurrentLogo(path: string | undefined): Promise<CurrentLogo> {
  if (path === undefined) return {};
  const logo = await readLogo(path);
  if (!('expected' in logo)) return { image: logo };
  const { expected, got } = logo;
  return { leftOut: `${basename(path)}: expected ${expected}${got === undefined ? '' : `, got ${got}`}` };
}
