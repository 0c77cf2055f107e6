import { z } from 'zod';
import type { FormatSchema, Output, OutputFile, OutputIssue } from './kinds.ts';

/** The schema of an entry in `outputs`, with one of the registered formats. */
export function createOutputSchema(formats: readonly FormatSchema[]): z.ZodType<Output> {
  const [first, ...others] = formats.map(({ schema }) => schema);
  if (first === undefined) throw new Error('No output format is registered.');
  // Every schema has a literal `format`, but the type of a generic schema does not show it.
  return z.discriminatedUnion('format', [first, ...others]) as unknown as z.ZodType<Output>;
}

/** The errors that formats find in valid outputs. `path` begins with the index of the output. */
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

/** The files in the organization's folder that an output is made from. */
export function outputFiles(output: Output, formats: readonly FormatSchema[]): readonly OutputFile[] {
  const format = formats.find((each) => each.format === output.format);
  // The cast is safe, because definitions are parsed with the same formats: this format's schema returned the output.
  return format?.files?.(output as never) ?? [];
}

/** What decides how many files a section has. */
interface FiledSection {
  readonly layout?: string | undefined;
  readonly totals?: boolean | undefined;
}

/**
 * Whether every run makes more than one of these files.
 * @param files the field `files` of a delivery: formats, `totals` and `schema`; undefined: all files
 */
export function makesSeveralFiles(
  { outputs, sections }: { readonly outputs: readonly Output[]; readonly sections: readonly FiledSection[] },
  formats: readonly FormatSchema[],
  files?: readonly string[],
): boolean {
  const several = new Set(formats.flatMap(({ format, severalFiles }) => (severalFiles ? [format] : [])));
  if (files === undefined) return outputs.length > 1 || outputs.some(({ format }) => several.has(format));
  const tables = sections.filter(({ layout }) => layout !== 'text').length;
  const totals = sections.filter((section) => section.totals).length;
  const counts = outputs.flatMap(({ format }) => [
    files.includes(format) ? (several.has(format) ? tables : 1) : 0,
    several.has(format) && files.includes('totals') ? totals : 0,
    several.has(format) && files.includes('schema') ? tables + totals : 0,
  ]);
  return counts.reduce((sum, count) => sum + count, 0) > 1;
}
