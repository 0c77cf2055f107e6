import { z } from 'zod';
import type { FormatSchema, Output, OutputFile, OutputIssue } from './kinds.ts';

/** One entry of `outputs`, in one of the registered formats. */
export function createOutputSchema(formats: readonly FormatSchema[]): z.ZodType<Output> {
  const [first, ...others] = formats.map(({ schema }) => schema);
  if (first === undefined) throw new Error('No output format is registered.');
  // Every schema has a literal `format`, but the type of a generic schema does not show it.
  return z.discriminatedUnion('format', [first, ...others]) as unknown as z.ZodType<Output>;
}

/** The errors that the formats find in valid outputs. `path` starts with the index of the output. */
export function outputIssues(
  outputs: readonly { readonly format: string }[],
  sections: readonly unknown[],
  formats: readonly FormatSchema[],
): readonly OutputIssue[] {
  return outputs.flatMap((output, index) => {
    const format = formats.find((each) => each.format === output.format);
    const parsed = format?.schema.safeParse(output);
    if (format === undefined || parsed?.success !== true) return [];
    // `Spec` is what this schema returns.
    const issues = format.diagnostics(parsed.data as never, sections);
    return issues.map(({ path, ...issue }) => ({ path: [index, ...path], ...issue }));
  });
}

/** The files of the organization's folder that an output is made from. */
export function outputFiles(output: Output, formats: readonly FormatSchema[]): readonly OutputFile[] {
  const format = formats.find((each) => each.format === output.format);
  // A definition is parsed with the same registry, so the output is what this format's schema returned.
  return format?.files?.(output as never) ?? [];
}

/** Whether every run makes more than one file. */
export const makesSeveralFiles = (
  outputs: readonly { readonly format: string }[],
  formats: readonly FormatSchema[],
): boolean =>
  outputs.length > 1 || formats.some(({ format, severalFiles }) => severalFiles && format === outputs[0]?.format);
