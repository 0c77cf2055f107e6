import type { z } from 'zod';
import type { TemplateVariables } from '../../base/text/template.ts';
import type { Diagnostic } from '../diagnostics/diagnostic.ts';
import type { ValuePath } from '../yaml/source-file.ts';

/** An entry of `deliveries`. The field named after a kind of target contains the output of that target's schema. */
export interface DeliverySpec {
  readonly send_if?: string | undefined;
  /** Figures of a protected workbook may be sent without protection. */
  readonly unprotected?: boolean | undefined;
  /** The delivery is made once for each value of a report with `split`. */
  readonly split?: true | undefined;
  readonly [kind: string]: unknown;
}

export type DiagnosticText = Pick<Diagnostic, 'message' | 'expected' | 'got' | 'next' | 'code'>;

/** @property path relative to the target's or output's own field */
export type LocatedDiagnostic = DiagnosticText & { readonly path: ValuePath };

/** What rules between several fields need to know. */
export interface DiagnosticContext {
  /** The variables of a run of the report, for templates. `file` is the name of a file. */
  readonly variables: (file: string) => TemplateVariables;
  /** Whether every run makes more than one file for a delivery with these `files`; undefined: all files. */
  readonly severalFiles: (files?: readonly string[]) => boolean;
  /** The organization's `allow_private`. */
  readonly allowPrivate: boolean;
}

/** A destination that is compared with the organization's `destinations`. `folder` is a template. */
export type Destination = { readonly path: ValuePath } & (
  | { readonly folder: string }
  | { readonly bucket: string }
  /** `privateReported`: `diagnostics` already reports that the address is private. */
  | { readonly host: string; readonly privateReported?: true }
);

export interface TargetDescription {
  /** For people: e-mail addresses, a path, a URL. Templates are as written, and secrets are left out. */
  readonly addresses: readonly string[];
  /** Shown in a plan instead of the addresses, if these do not show the kind. */
  readonly labels?: readonly string[];
  /** Its subject has a headline, but the definition does not say whether it may. */
  readonly undecidedSubject?: boolean;
  /** E-mail addresses that get one delivery each. They are compared with the organization's `recipients`. */
  readonly mailboxes?: readonly { readonly address: string; readonly path: ValuePath }[];
  /** The formats of the files in the message; absent if it never has any. */
  readonly attach?: readonly string[];
  /**
   * What receivers can read without a password: files with these formats, and parts of the message, in words. Absent:
   * no figures.
   */
  readonly shows?: { readonly formats: readonly string[] | 'all'; readonly parts: readonly string[] };
  /**
   * Where it writes files: a template for paths, and whether it replaces a file with other content. Absent: nowhere.
   */
  readonly writes?: { readonly template: string; readonly overwrite: boolean };
  /** The name of the e-mail body that the message shows; absent if it is not an e-mail. */
  readonly body?: string;
  readonly destinations?: readonly Destination[];
}

/** What definitions need to know about a kind of target. `Spec` is the output of its schema. */
export interface TargetSchema<Spec = never> {
  /**
   * The name of its field in `deliveries[]`. It is part of stored names (`0-email`) and a label of Docket's own
   * metrics.
   */
  readonly kind: string;
  /** A name for people, e.g. `S3 bucket`. */
  readonly label: string;
  /** @param formats the formats that `outputs` may have */
  schema(formats: readonly string[]): z.ZodType;
  /** The field of the spec that lists formats. `outputs` must make each of them. */
  readonly attachField?: string;
  /** Errors that no single field shows. */
  diagnostics(spec: Spec, context: DiagnosticContext): readonly LocatedDiagnostic[];
  describe(spec: Spec): TargetDescription;
}

/** An entry of `outputs`, as the schema of its format returned it. */
export interface Output {
  readonly format: string;
  /** A template for file names. */
  readonly name?: string | undefined;
  readonly [option: string]: unknown;
}

/** An error in an output. `path` is relative to the output. */
export interface OutputIssue {
  readonly path: ValuePath;
  readonly expected: string;
  readonly next: string;
}

/** What definitions need to know about an output format. `Spec` is the output of its schema. */
export interface FormatSchema<Spec = never> {
  /** The value of `outputs[].format`. It is part of stored names and a label of Docket's own metrics. */
  readonly format: string;
  /** A name for people, e.g. `Excel workbook`. */
  readonly label: string;
  /** A strict object whose `format` is a literal. */
  readonly schema: z.ZodObject;
  /** Whether every run makes more than one file of an output. */
  readonly severalFiles: boolean;
  /**
   * Errors that no single field shows.
   * @param sections those of the report
   */
  diagnostics(output: Spec, sections: readonly unknown[]): readonly OutputIssue[];
  /** The files that the output is made from, by their paths relative to the folder of `org.yaml`. Absent: none. */
  files?(output: Spec): readonly OutputFile[];
}

/** A file in the organization's folder that an output is made from. */
export interface OutputFile {
  /** The field that names the file, relative to the output. */
  readonly path: ValuePath;
  /** The name in the definition. */
  readonly file: string;
  /** A name for people, e.g. `workbook template`. */
  readonly what: string;
}

/** The kinds of targets and formats that report definitions are read with. */
export interface DefinitionKinds {
  readonly targets: readonly TargetSchema[];
  readonly formats: readonly FormatSchema[];
}

/** The labels of targets and formats, by their names in definitions. */
export const kindLabels = ({ targets, formats }: DefinitionKinds): ReadonlyMap<string, string> =>
  new Map([
    ...targets.map(({ kind, label }) => [kind, label] as const),
    ...formats.map(({ format, label }) => [format, label] as const),
  ]);

/**
 * Finds the target of a delivery, with the spec that the target's own schema returned. Throws if the kind is unknown.
 */
export function resolveTarget<Target extends Pick<TargetSchema, 'kind'>>(
  delivery: DeliverySpec,
  targets: readonly Target[],
): { readonly target: Target; readonly spec: never } {
  const target = targets.find(({ kind }) => delivery[kind] !== undefined);
  if (target === undefined) throw new Error(`No target is registered for ${Object.keys(delivery).join(', ')}.`);
  // The only cast. It is safe, because definitions are parsed with the same targets: the field contains the output of
  // this target's schema.
  return { target, spec: delivery[target.kind] as never };
}

export function describeDelivery(
  delivery: DeliverySpec,
  targets: readonly Pick<TargetSchema, 'kind' | 'describe'>[],
): TargetDescription & { readonly kind: string } {
  const { target, spec } = resolveTarget(delivery, targets);
  return { kind: target.kind, ...target.describe(spec) };
}

/**
 * The name of a delivery's target in the ledger, the archive and Docket's metrics: position and kind, e.g. `0-email`.
 * In a split report the value is added: `0-email:retail-0a1b2c3d4e`.
 */
export const targetName = (index: number, kind: string, desk?: { readonly slug: string }): string =>
  `${index}-${kind}${desk === undefined ? '' : `:${desk.slug}`}`;

/** Whether the name of a target contains the value of a split report. */
export const isSplitTarget = (name: string): boolean => name.includes(':');

/** The kind in a target's name. */
export const kindOfTarget = (name: string): string => name.replace(/^\d+-/, '').replace(/:.*$/, '');
