import type { z } from 'zod';
import type { TemplateVariables } from '../../base/text/template.ts';
import type { Diagnostic } from '../diagnostics/diagnostic.ts';
import type { ValuePath } from '../yaml/source-file.ts';

/** One entry of `deliveries`: the field named after a kind of target holds what its schema made of it. */
export interface DeliverySpec {
  readonly send_if?: string | undefined;
  /** Figures of a protected workbook may be sent in the clear. */
  readonly unprotected?: boolean | undefined;
  /** Once for each value of a report with `split`. */
  readonly split?: true | undefined;
  readonly [kind: string]: unknown;
}

export type DiagnosticText = Pick<Diagnostic, 'message' | 'expected' | 'got' | 'next' | 'code'>;

/** @property path relative to the target's or output's own field */
export type LocatedDiagnostic = DiagnosticText & { readonly path: ValuePath };

/** What a rule about more than one field is judged by. */
export interface DiagnosticContext {
  /** The variables of a run of the report, for templates; `file` is the name of a file. */
  readonly variables: (file: string) => TemplateVariables;
  /** Whether every run makes more than one file for a delivery with this field `files`; undefined: all files. */
  readonly severalFiles: (files?: readonly string[]) => boolean;
  /** `allow_private` of the organization. */
  readonly allowPrivate: boolean;
}

/** Compared with `destinations` of the organization. `folder` is a template. */
export type Destination = { readonly path: ValuePath } & (
  | { readonly folder: string }
  | { readonly bucket: string }
  /** `privateReported`: `diagnostics` reports a private address already. */
  | { readonly host: string; readonly privateReported?: true }
);

export interface TargetDescription {
  /** For people, templates as written, without secrets: e-mail addresses, a path, a URL. */
  readonly addresses: readonly string[];
  /** Shown in a plan instead of the addresses, where these alone do not show the kind. */
  readonly labels?: readonly string[];
  /** Its subject has a headline, and nothing says whether it may. */
  readonly undecidedSubject?: boolean;
  /** E-mail addresses that get one delivery each; compared with `recipients` of the organization. */
  readonly mailboxes?: readonly { readonly address: string; readonly path: ValuePath }[];
  /** The formats of the files that the message carries; absent where it carries none ever. */
  readonly attach?: readonly string[];
  /** What receivers read without a password: files of these formats, and parts of the message, for people. Absent: no figures. */
  readonly shows?: { readonly formats: readonly string[] | 'all'; readonly parts: readonly string[] };
  /** Where it writes files: a template of paths, and whether a file with other content is replaced. Absent: nowhere. */
  readonly writes?: { readonly template: string; readonly overwrite: boolean };
  /** The name of the e-mail body that the message shows; absent where it is no e-mail. */
  readonly body?: string;
  readonly destinations?: readonly Destination[];
}

/** What definitions need of a kind of target. `Spec` is the output of its schema. */
export interface TargetSchema<Spec = never> {
  /** The name of its field in `deliveries[]`; part of stored names (`0-email`) and a label of metrics. */
  readonly kind: string;
  /** For people, e.g. `S3 bucket`. */
  readonly label: string;
  /** @param formats that `outputs` may have */
  schema(formats: readonly string[]): z.ZodType;
  /** The field of the spec that lists formats, each of which `outputs` must make. */
  readonly attachField?: string;
  /** Errors that no field shows alone. */
  diagnostics(spec: Spec, context: DiagnosticContext): readonly LocatedDiagnostic[];
  describe(spec: Spec): TargetDescription;
}

/** One entry of `outputs`, as the schema of its format returned it. */
export interface Output {
  readonly format: string;
  /** A template of file names. */
  readonly name?: string | undefined;
  readonly [option: string]: unknown;
}

/** An error in an output. `path` is relative to the output. */
export interface OutputIssue {
  readonly path: ValuePath;
  readonly expected: string;
  readonly next: string;
}

/** What definitions need of an output format. `Spec` is the output of its schema. */
export interface FormatSchema<Spec = never> {
  /** The value of `outputs[].format`; part of stored names and a label of metrics. */
  readonly format: string;
  /** For people, e.g. `Excel workbook`. */
  readonly label: string;
  /** A strict object whose `format` is a literal. */
  readonly schema: z.ZodObject;
  /** Whether every run makes more than one file of an output. */
  readonly severalFiles: boolean;
  /** Errors that no field shows alone. @param sections those of the report */
  diagnostics(output: Spec, sections: readonly unknown[]): readonly OutputIssue[];
  /** The files that the output is made from, by their paths from the folder of `org.yaml`. Absent: none. */
  files?(output: Spec): readonly OutputFile[];
}

/** A file of the organization's folder that an output is made from. */
export interface OutputFile {
  /** Of the field that names it, relative to the output. */
  readonly path: ValuePath;
  /** As the definition names it. */
  readonly file: string;
  /** For people, e.g. `workbook template`. */
  readonly what: string;
}

/** The registries that report definitions are read with. */
export interface DefinitionKinds {
  readonly targets: readonly TargetSchema[];
  readonly formats: readonly FormatSchema[];
}

/** The labels of kinds of targets and of formats, by their names in definitions. */
export const kindLabels = ({ targets, formats }: DefinitionKinds): ReadonlyMap<string, string> =>
  new Map([
    ...targets.map(({ kind, label }) => [kind, label] as const),
    ...formats.map(({ format, label }) => [format, label] as const),
  ]);

/** The target of a delivery, with the spec that the target's own schema returned. Throws for a delivery of no known kind. */
export function targetOf<Target extends Pick<TargetSchema, 'kind'>>(
  delivery: DeliverySpec,
  targets: readonly Target[],
): { readonly target: Target; readonly spec: never } {
  const target = targets.find(({ kind }) => delivery[kind] !== undefined);
  if (target === undefined) throw new Error(`No target is registered for ${Object.keys(delivery).join(', ')}.`);
  // The one cast: a definition is parsed with the same targets, so the field holds the output of this target's schema.
  return { target, spec: delivery[target.kind] as never };
}

export function describeDelivery(
  delivery: DeliverySpec,
  targets: readonly Pick<TargetSchema, 'kind' | 'describe'>[],
): TargetDescription & { readonly kind: string } {
  const { target, spec } = targetOf(delivery, targets);
  return { kind: target.kind, ...target.describe(spec) };
}

/** The name of a delivery's target in the ledger, the archive and the metrics: position and kind, e.g. `0-email`; with the
 * value of a split report, `0-email:retail-0a1b2c3d4e`. */
export const targetName = (index: number, kind: string, desk?: { readonly slug: string }): string =>
  `${index}-${kind}${desk === undefined ? '' : `:${desk.slug}`}`;

/** Whether the target's name has the value of a split report. */
export const isSplitTarget = (name: string): boolean => name.includes(':');

/** The kind of a target's name. */
export const kindOfTarget = (name: string): string => name.replace(/^\d+-/, '').replace(/:.*$/, '');
