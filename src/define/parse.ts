import type { z } from 'zod';
import { byPosition, type Fault } from './fault.ts';
import { expectation, faultsOf } from './issue-faults.ts';
import { locate, type Path, readYaml, type Source } from './source.ts';
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
  const yaml = readYaml(file, text);
  const { source } = yaml;
  const syntax = syntaxFaults(yaml);
  if (syntax.length > 0) return { source, faults: syntax };
  const structure = structureOf(yaml);
  if (!structure.sound) return { source, faults: firstFaults(source, structure.faults) };
  // What the aliases come to is limited by the structure.
  const plain: unknown = yaml.document.toJS({ maxAliasCount: -1 });
  const parsed = schema.safeParse(plain, { error: expectation });
  const issues = parsed.success ? [] : parsed.error.issues;
  const { faults, more } = faultsOf(source, plain, issues, structure.secrets, MOST_FAULTS);
  const all = firstFaults(source, [...structure.faults, ...faults].sort(byPosition), more);
  return parsed.success && all.length === 0 ? { source, value: parsed.data, faults: all } : { source, faults: all };
}

/** A person corrects some and checks again; a file of nothing but faults must not take minutes to say so. */
const MOST_FAULTS = 100;

/**
 * The first faults, and one that counts the others.
 * @param more how many there are beside them
 */
export function firstFaults(source: Source, faults: readonly Fault[], more = 0): readonly Fault[] {
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
