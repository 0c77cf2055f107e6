import { z } from 'zod';

/** A file that the document may read. Its path is relative to the document's root, with `/`. */
export interface TypstFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** What is sent to the compiling process. */
export interface TypstJob {
  /** Path of the main file among `files`. */
  readonly main: string;
  /** All files that the document can read. */
  readonly files: readonly TypstFile[];
  /** Paths of fonts on disk. */
  readonly fontFiles: readonly string[];
  /** Additional fonts. */
  readonly fonts: readonly Uint8Array[];
  /** Unix time in seconds: the creation time that the document shows. */
  readonly madeAt: number;
}

const diagnosticSchema = z.object({
  message: z.string(),
  /** Relative to the root; null if Typst gives no position. */
  path: z.string().nullable(),
  /** Counted from 1. */
  line: z.int().min(1),
  /** Counted from 1. */
  column: z.int().min(1),
  hints: z.array(z.string()),
});
/** An error from Typst. */
export type TypstDiagnostic = z.output<typeof diagnosticSchema>;

const usageSchema = z.object({
  cpuMs: z.number(),
  /** Peak of resident memory. */
  rssMb: z.number(),
});
/** What the process used, including its start. */
export type TypstUsage = z.output<typeof usageSchema>;

/** What the process sends back. */
export const typstResultSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('done'), pdf: z.instanceof(Uint8Array), usage: usageSchema }),
  z.object({ kind: z.literal('failed'), diagnostics: z.array(diagnosticSchema).min(1) }),
]);
export type TypstResult = z.output<typeof typstResultSchema>;
