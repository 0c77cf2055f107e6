import type { z } from 'zod';
import type { Diagnostic } from '../../diagnostics/diagnostic.ts';
import { type Finding, findingsOf, zodErrorMap } from '../schema-diagnostics.ts';
import { locate, positionOf, type SourceFile, type SourceNode, type ValuePath } from '../source-file.ts';
import { moveField, nodeAt, type PositionedValue, valueAt } from './edit-value.ts';
import { indentationMistake } from './mistakes.ts';

/** A field that belongs to another mapping: its indentation is wrong. */
export interface Misplaced {
  readonly from: ValuePath;
  readonly to: ValuePath;
}

/** Each trial validates the whole file. */
const MAX_TRIALS = 24;
/** More unknown fields than these are no slips of the indentation. */
const MAX_FIELDS = 12;
const MAX_TEXT_LENGTH = 100_000;

/** The unknown fields that a mapping directly around or before them has, and of whose value it approves. */
export function findMisplaced(
  source: SourceFile,
  value: PositionedValue,
  findings: readonly Finding[],
  schema: z.ZodType,
): Misplaced[] {
  if (source.text.length > MAX_TEXT_LENGTH) return [];
  const misplaced: Misplaced[] = [];
  const before = new Set(findings.map(keyOf));
  // The schema says nothing about what is inside them.
  const unknown = findings.flatMap(({ path, known }) => (known === undefined ? [] : [path]));
  let trials = 0;
  let current = value;
  for (const path of unknown.slice(0, MAX_FIELDS)) {
    if (!beginsLine(source, path)) continue;
    const name = String(path.at(-1));
    for (const target of targetsOf(current, path)) {
      const to = [...target, name];
      const isUnknown = unknown.some((each) => each.every((step, index) => to[index] === step));
      if (isUnknown || valueAt(current.plain, to) !== undefined || trials >= MAX_TRIALS) continue;
      trials += 1;
      const moved = moveField(current, path, to);
      const parsed = schema.safeParse(moved.plain, { error: zodErrorMap });
      const left = parsed.success ? [] : findingsOf(parsed.error.issues);
      // Faults inside the moved value are its own.
      if (left.some((each) => !before.has(keyOf(each)) && !isInside(each.path, to))) continue;
      misplaced.push({ from: path, to });
      current = moved;
      break;
    }
  }
  return misplaced;
}

const keyOf = ({ path, issue }: Finding): string => JSON.stringify([path, issue.message]);
const isInside = (path: ValuePath, outer: ValuePath): boolean =>
  path.length > outer.length && outer.every((step, index) => path[index] === step);

/** One diagnostic for the fields of a mapping that belong to the same other one. */
export function misplacedDiagnostics(source: SourceFile, moved: readonly Misplaced[]): Diagnostic[] {
  const groups = new Map<string, Misplaced[]>();
  for (const each of moved) {
    const key = JSON.stringify([each.from.slice(0, -1), each.to.slice(0, -1)]);
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups.values()].map((group): Diagnostic => {
    const placed = group
      .map((each) => ({ ...each, at: locate(source, each.from, 'key') }))
      .sort((a, b) => a.at.line - b.at.line);
    const [{ at, to }] = placed as [(typeof placed)[number]];
    const neighbour = fieldsAbove(nodeAt(source.tree, to.slice(0, -1)), Number.POSITIVE_INFINITY)[0];
    const like = neighbour === undefined ? at : positionOf(source, neighbour.key);
    const text = indentationMistake(
      { is: at.column - 1, should: like.column - 1, like: like.line - 1 },
      group.length - 1,
    );
    return { file: source.file, ...at, ...text };
  });
}

/** Whether the field is written on a line of its own, not in brackets. */
function beginsLine(source: SourceFile, path: ValuePath): boolean {
  const { line, column } = locate(source, path, 'key');
  const start = source.lines[line - 1] ?? 0;
  return /^\s*(- +)*$/.test(source.text.slice(start, start + column - 1));
}

/** The fields of a mapping before an offset, in the order of the file. */
const fieldsAbove = (node: SourceNode | undefined, offset: number): { readonly name: string; readonly key: number }[] =>
  [...(node?.fields ?? [])]
    .flatMap(([name, { key }]) => (key === undefined || key >= offset ? [] : [{ name, key }]))
    .sort((a, b) => a.key - b.key);

/** Mappings that a field may belong to instead: the last ones before it, and those around it. */
function targetsOf({ plain, tree }: PositionedValue, path: ValuePath): ValuePath[] {
  const parent = path.slice(0, -1);
  const inner: ValuePath[] = [];
  let offset = nodeAt(tree, parent)?.fields?.get(String(path.at(-1)))?.key ?? 0;
  let at: ValuePath = parent;
  for (;;) {
    const last = fieldsAbove(nodeAt(tree, at), offset).at(-1);
    if (last === undefined) break;
    at = [...at, last.name];
    const list = valueAt(plain, at);
    if (Array.isArray(list)) {
      if (list.length === 0) break;
      at = [...at, list.length - 1];
    }
    const mapping = valueAt(plain, at);
    if (typeof mapping !== 'object' || mapping === null || Array.isArray(mapping)) break;
    inner.push(at);
    offset = Number.POSITIVE_INFINITY;
  }
  const around = parent.map((_, length) => parent.slice(0, length)).reverse();
  return [...inner, ...around.filter((each) => !Array.isArray(valueAt(plain, each)))];
}
