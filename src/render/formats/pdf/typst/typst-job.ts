import { z } from 'zod';

/** A file that the document may read, at a path relative to its root, with `/`. */
export interface TypstFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** What the compiling process is sent. */
export interface TypstJob {
  /** Path of the main file among `files`. */
  readonly main: string;
  /** All that the document can read. */
  readonly files: readonly TypstFile[];
  /** Paths of fonts on disk. */
  readonly fontFiles: readonly string[];
  /** Further fonts. */
  readonly fonts: readonly Uint8Array[];
  /** Unix time in seconds: the time of creation that the document shows. */
  readonly madeAt: number;
}

const diagnosticSchema = z.object({
  message: z.string(),
  /** Relative to the root; null where Typst names no place. */
  path: z.string().nullable(),
  /** From 1. */
  line: z.int().min(1),
  /** From 1. */
  column: z.int().min(1),
  hints: z.array(z.string()),
});
/** An error of Typst. */
export type TypstDiagnostic = z.output<typeof diagnosticSchema>;

const usageSchema = z.object({
  cpuMs: z.number(),
  /** Resident memory at its highest. */
  rssMb: z.number(),
});
/** What the process needed, its start included. */
export type TypstUsage = z.output<typeof usageSchema>;

/** What the process answers. */
export const typstResultSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('done'), pdf: z.instanceof(Uint8Array), usage: usageSchema }),
  z.object({ kind: z.literal('failed'), diagnostics: z.array(diagnosticSchema).min(1) }),
]);
export type TypstResult = z.output<typeof typstResultSchema>;
