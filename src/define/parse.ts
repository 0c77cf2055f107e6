import type { z } from 'zod';
import { byPosition, type Fault } from './fault.ts';
import { expectation, faultsOf } from './issue-faults.ts';
import { locate, type Path, positionOf, readYaml, type Source } from './source.ts';
import { structureOf, syntaxFaults } from './yaml-faults.ts';

export interface Parsed<T> {
  readonly source: Source;
  /** Absent when there is any fault. */
  readonly value?: T;
  readonly faults: readonly Fault[];
}

/** A file's text through YAML and a schema, with every fault at its position. Never throws. */
export function parseSource<Schema extends z.ZodType>(
  file: string,
  text: string,
  schema: Schema,
): Parsed<z.output<Schema>> {
  const { source, stopped } = readYaml(file, text);
  const syntax = syntaxFaults(source, stopped);
  if (syntax.length > 0) return { source, faults: syntax };
  const structure = structureOf(source);
  if (!structure.sound) return { source, faults: firstOf(source, structure.faults, 0) };
  const plain = plainValue(source);
  if ('fault' in plain) return { source, faults: [...structure.faults, plain.fault] };
  const parsed = schema.safeParse(plain.value, { error: expectation });
  const issues = parsed.success ? [] : parsed.error.issues;
  const { faults, more } = faultsOf(source, plain.value, issues, structure.secrets, MOST_FAULTS);
  const all = firstOf(source, [...structure.faults, ...faults].sort(byPosition), more);
  return parsed.success && all.length === 0 ? { source, value: parsed.data, faults: all } : { source, faults: all };
}

/** A person corrects some and checks again; a file of nothing but faults must not take minutes to say so. */
const MOST_FAULTS = 100;

/** The first faults, and one that counts the others. */
function firstOf(source: Source, faults: readonly Fault[], more: number): readonly Fault[] {
  const shown = faults.slice(0, MOST_FAULTS);
  const others = faults.length - shown.length + more;
  const last = shown.at(-1);
  if (others === 0 || last === undefined) return shown;
  const { line, column } = last;
  return [
    ...shown,
    {
      file: source.file,
      line,
      column,
      message: 'not all faults of this file are shown',
      expected: 'fewer faults',
      got: `${others} more`,
      next: 'correct the first ones and check again',
    },
  ];
}

/** Aliases of aliases multiply; the reader counts what they come to and refuses before the memory is spent. */
const MAX_ALIASED = 1000;

function plainValue(source: Source): { value: unknown } | { fault: Fault } {
  try {
    return { value: source.document.toJS({ maxAliasCount: MAX_ALIASED }) };
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    return {
      fault: {
        file: source.file,
        ...positionOf(source, source.text.indexOf('*')),
        expected: `aliases that come to at most ${MAX_ALIASED} values`,
        got: 'aliases of aliases that multiply beyond it',
        next: 'write the values out',
      },
    };
  }
}

/** A fault at a path of a source, for rules that know more than its schema: the allow-list, the catalog. */
export const faultAt = (
  source: Source,
  path: Path,
  parts: Pick<Fault, 'message' | 'expected' | 'got' | 'next'>,
): Fault => ({
  file: source.file,
  ...locate(source, path),
  ...parts,
});
