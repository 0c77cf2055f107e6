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

/** A file that an output consists of. */
export interface PlannedFile {
  /** Final file name, safe on every system. */
  readonly name: string;
  /** Stored in manifests. */
  readonly format: string;
  readonly mediaType: string;
  /** Absent for the output's own files. */
  readonly part?: ArtifactPart;
  /** Names the file in the error about two files of one name, e.g. `the workbook`. */
  readonly label: string;
  /**
   * Writes the file to `path`, which does not exist. `earlier` are the finished files of the plan before it.
   * @returns what of a template was filled, where the file is made from one
   */
  readonly write: (path: string, earlier: readonly Artifact[]) => Promise<void> | Promise<FilledWorkbook | undefined>;
}

/** The fields of a definition that a template of a workbook binds to: plain data, which can be sent to another thread. */
export type TemplateDefinition = Pick<
  ReportFile,
  'sections' | 'compare' | 'to_date' | 'units' | 'labels' | 'approval' | 'corrections'
> &
  Partial<Pick<Definition, 'on_incomplete' | 'files'>>;

/** What the files of a report are created with. */
export interface FormatContext {
  readonly variables: NameVariables;
  /** The run's id. */
  readonly run: string;
  /** SHA-256 (hex) of the definition. */
  readonly digest: string;
  /** Epoch ms: the time of creation that every file shows. */
  readonly madeAt: number;
  /** BCP 47; `en-GB` when absent. */
  readonly locale?: string | undefined;
  /** Path of a PNG or JPEG. */
  readonly logo?: string | undefined;
  /** E.g. `Confidential`. */
  readonly classification?: string | undefined;
  /** What `DOCKET_TEMPLATES` names: a folder of the organization's own templates. */
  readonly templates?: string | undefined;
  /** The folder of the organization's `org.yaml`: where the files are that outputs name. */
  readonly orgFolder?: string | undefined;
  /** What of the definition a template of a workbook binds to; absent where no output has one. */
  readonly definition?: TemplateDefinition | undefined;
  /** The organization's fiscal year, for sentences about changes. */
  readonly calendar?: FiscalCalendar | undefined;
  /** The formats of all outputs of the report. */
  readonly outputs?: readonly string[] | undefined;
  /** The values of the references that `secrets` returned for this output, by the same keys. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** A report that has an output made from a file of its organization. */
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

/** Checks and shows the file that an output is made from. */
export interface OutputFileTools {
  /** What in the file does not fit the report. A file that cannot be read is left out: loading the definition has named it. */
  check(output: Output, report: FileReport): Promise<FileDiagnostics>;
  /** Which part of the file gets what. A file that cannot be used is a problem. */
  view(output: Output, report: FileReport): Promise<TemplateView>;
  /** The view in lines, for `docket explain`. */
  lines(view: TemplateView): readonly string[];
}

/**
 * An output format. Registered, it is known to the JSON Schema, `docket check`, rendering, delivery and the archive. This
 * module's importers load quickly: import what renders inside `render`.
 */
export interface Format<Spec = never> extends FormatSchema<Spec> {
  /** Secrets of the output, revealed before the first API call. */
  secrets?(output: Spec): Readonly<Record<string, SecretRef>>;
  /** Plans the output's files, in the order in which they are written. */
  render(dataset: Dataset, output: Spec, context: FormatContext): Promise<readonly PlannedFile[]>;
  /** For a format with `files`. */
  fileTools?(): Promise<OutputFileTools>;
  /** One file that an e-mail attaches instead of the planned ones; undefined when there is no need. */
  bundle?(files: readonly PlannedFile[], context: FormatContext): Promise<PlannedFile | undefined>;
}

/** The format of an output. Throws for one that is not registered. */
export function formatOf(
  output: Output,
  formats: readonly Format[],
): { readonly format: Format; readonly spec: never } {
  const format = formats.find((each) => each.format === output.format);
  if (format === undefined) throw new Error(`No format is registered for ${output.format}.`);
  // A definition is parsed with the same registry, so the output is what this format's schema returned.
  return { format, spec: output as never };
}

function* resume(taken: readonly IteratorResult<string>[], rest: Iterator<string>): Iterable<string> {
  for (const { done, value } of taken) if (!done) yield value;
  yield* { [Symbol.iterator]: () => rest };
}

/**
 * Writes chunks to a new file as they are produced, no faster than the disk; a single text at once, without a stream. `path`
 * must not exist. Throws the signal's reason when aborted.
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
    // Closes the file that it reads rows from, also where the pipeline has not come to the rest.
    rest?.return?.();
  }
}

/** The organization's logo, or why the pack is made without it, as text for its record; neither where it has none. */
export interface CurrentLogo {
  readonly image?: Logo;
  readonly leftOut?: string;
}

/**
 * Reads the organization's logo again: the file may have changed since the definitions were checked. One that cannot be used any
 * more stops no report: `docket check` and each reload name it.
 */
export async function readCurrentLogo(path: string | undefined): Promise<CurrentLogo> {
  if (path === undefined) return {};
  const logo = await readLogo(path);
  if (!('expected' in logo)) return { image: logo };
  const { expected, got } = logo;
  return { leftOut: `${basename(path)}: expected ${expected}${got === undefined ? '' : `, got ${got}`}` };
}
