import type { z } from 'zod';
import type { Diagnostic } from '../diagnostics/diagnostic.ts';
import { closestMatches } from '../diagnostics/suggest.ts';
import {
  addStandIn,
  isStandIn,
  moveField,
  originalPath,
  type PositionedValue,
  removeAt,
  replaceAt,
  valueAt,
} from './edit-value.ts';
import {
  BOOLEAN_WORDS,
  collectFindings,
  type Finding,
  findingDiagnostic,
  knownValues,
  zodErrorMap,
} from './schema-diagnostics.ts';
import type { SourceFile, ValuePath } from './source-file.ts';

/** The parts of a file that can be read. */
export interface PartialValue<T> {
  readonly value: T;
  /** With the positions of this value's parts. */
  readonly source: SourceFile;
  /** Paths in the file of values that could not be read and are left out here. */
  readonly lost: readonly ValuePath[];
}

/**
 * Gives a value for a required field that is missing or invalid. Undefined: the part that contains the field is left
 * out.
 */
export type StandIns = (path: ValuePath) => unknown;

export interface SchemaCheck<T> {
  /** Absent if there is any diagnostic. */
  readonly value?: T;
  /** If there are diagnostics: what can still be read, if anything. */
  readonly partial?: PartialValue<T>;
  readonly diagnostics: readonly Diagnostic[];
  /** The number of further diagnostics that are not in the list. */
  readonly more: number;
}

export interface SchemaCheckInput<Schema extends z.ZodType> {
  readonly source: SourceFile;
  readonly plain: unknown;
  readonly schema: Schema;
  /** Paths that already have a diagnostic, and whose values must not be shown. */
  readonly secretPaths: readonly ValuePath[];
  readonly standIns: StandIns;
  readonly max: number;
}

const MAX_ROUNDS = 12;
const HIDDEN = 'hidden';

/**
 * Validates a value. Each invalid part is corrected if its meaning is clear, or left out, and the rest is validated
 * again. So one error does not hide others, and errors that only follow from another are not reported.
 */
export function checkSchema<Schema extends z.ZodType>(input: SchemaCheckInput<Schema>): SchemaCheck<z.output<Schema>> {
  const { schema, max } = input;
  const state = new Repairs(input);
  const diagnostics: Diagnostic[] = [];
  let more = 0;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const parsed = schema.safeParse(state.current.plain, { error: zodErrorMap });
    if (parsed.success) {
      if (round === 0 && input.secretPaths.length === 0) return { value: parsed.data, diagnostics, more };
      const partial = { value: parsed.data, source: state.source(), lost: state.lost };
      return { partial, diagnostics, more };
    }
    const findings = collectFindings(parsed.error.issues);
    const shown = findings.slice(0, Math.max(0, max - diagnostics.length));
    more += findings.length - shown.length;
    if (shown.length === 0) break;
    const before = state.current;
    diagnostics.push(...state.take(shown));
    // If a file has more errors than are shown, a further round adds nothing.
    if (state.current === before || more > 0) break;
  }
  return { diagnostics, more };
}

interface Damage {
  /** The path in the file. */
  readonly path: ValuePath;
  /** Set for an unknown field: a misspelt field may be reported as missing as well. */
  readonly unknown?: true;
}

/** Whether a path is equal to the prefix or inside it. */
export const isPrefix = (prefix: ValuePath, path: ValuePath): boolean =>
  prefix.length <= path.length && prefix.every((step, index) => path[index] === step);
const samePath = (a: ValuePath, b: ValuePath): boolean => a.length === b.length && isPrefix(a, b);

/** The part of a file that rules between fields apply to: an entry of a list at the top, or a field. */
const toRuleScope = (path: ValuePath): ValuePath => path.slice(0, typeof path[1] === 'number' ? 2 : 1);

/** Whether the format of an output cannot be read because of this path. */
const hidesFormat = ([list, , field]: ValuePath): boolean =>
  list === 'outputs' && (field === undefined || field === 'format');

class Repairs<Schema extends z.ZodType> {
  readonly #input: SchemaCheckInput<Schema>;
  readonly #damage: Damage[] = [];
  /** Paths in the file of corrected values. A second error in them only follows from the first. */
  readonly #corrected: ValuePath[] = [];
  readonly #reported = new Set<string>();
  current: PositionedValue;

  constructor(input: SchemaCheckInput<Schema>) {
    this.#input = input;
    this.current = { plain: input.plain, tree: input.source.tree };
    // Removes secrets from the value, so that no diagnostic can show them.
    for (const path of input.secretPaths) {
      this.#corrected.push(path);
      this.#damage.push({ path });
      this.current = replaceAt(this.current, path, HIDDEN);
    }
  }

  get lost(): readonly ValuePath[] {
    return this.#damage.flatMap(({ path, unknown }) => (unknown ? [] : [path]));
  }

  source(): SourceFile {
    const { tree } = this.current;
    const { file, text, lines } = this.#input.source;
    return { file, text, lines, ...(tree === undefined ? {} : { tree }) };
  }

  /** Reports findings and repairs the value. */
  take(findings: readonly Finding[]): Diagnostic[] {
    const source = this.source();
    const { plain, tree } = this.current;
    const renamed = new Map(findings.flatMap((finding) => this.#renameOf(finding)));
    const expected = [...renamed.values()];
    const diagnostics: Diagnostic[] = [];
    const repairs: { readonly path: ValuePath; readonly finding: Finding }[] = [];
    for (const finding of findings) {
      const { path } = finding;
      const present = valueAt(plain, path) !== undefined;
      // The field is in the file, but under another name.
      if (!present && expected.some((to) => isPrefix(path, to))) continue;
      repairs.push({ path, finding });
      if (this.#followsFromOthers(finding, present)) continue;
      const key = JSON.stringify([originalPath(tree, path), finding.issue.message]);
      if (this.#reported.has(key)) continue;
      this.#reported.add(key);
      diagnostics.push(findingDiagnostic(source, plain, finding));
    }
    const done = new Set<string>();
    // Repairs lists from their end, so that indexes stay valid.
    for (const { path, finding } of repairs.sort((a, b) => comparePaths(b.path, a.path))) {
      const key = JSON.stringify(path);
      if (done.has(key)) continue;
      done.add(key);
      const to = renamed.get(finding);
      if (to === undefined) this.#repair(finding, done);
      else this.current = moveField(this.current, path, to);
    }
    return diagnostics;
  }

  /** The correct name for a misspelt field, unless the mapping also has that name. */
  #renameOf(finding: Finding): [Finding, ValuePath][] {
    const { path, known } = finding;
    const parent = path.slice(0, -1);
    if (known === undefined) return [];
    const [name] = closestMatches(String(path.at(-1)), known);
    if (name === undefined || valueAt(this.current.plain, [...parent, name]) !== undefined) return [];
    return [[finding, [...parent, name]]];
  }

  #followsFromOthers({ issue, path }: Finding, present: boolean): boolean {
    const { tree } = this.current;
    if (isStandIn(tree, path)) return true;
    const original = originalPath(tree, path);
    if (this.#corrected.some((corrected) => isPrefix(corrected, original))) return true;
    const isRule = issue.code === 'custom';
    return this.#damage.some(({ path: damaged, unknown }) => {
      if (isRule && damaged[0] === 'outputs' && original[0] === 'outputs') return true;
      // Deliveries refer to the formats of outputs.
      if (isRule && hidesFormat(damaged) && original[0] === 'deliveries') return true;
      if (isRule && damaged[0] === 'sections' && samePath(original, ['sections'])) return true;
      if (!samePath(toRuleScope(original), toRuleScope(damaged))) return false;
      if (!present) return true;
      return isRule && (unknown !== true || isPrefix(original, damaged));
    });
  }

  #repair({ issue, path, known }: Finding, done: Set<string>): void {
    const { plain, tree } = this.current;
    const original = originalPath(tree, path);
    const found = valueAt(plain, path);
    const corrected = this.#corrected.some((each) => isPrefix(each, original));
    if (known !== undefined) {
      this.#damage.push({ path: original, unknown: true });
      this.current = removeAt(this.current, path);
      return;
    }
    const correction = corrected ? undefined : suggestCorrection({ issue }, found);
    if (correction !== undefined) {
      this.#corrected.push(original);
      this.current = replaceAt(this.current, path, correction);
      return;
    }
    this.#damage.push({ path: original });
    const standIn = this.#input.standIns(path);
    if (standIn !== undefined) {
      this.current = addStandIn(this.current, path, standIn);
      return;
    }
    if (path.length === 0) return;
    // Without a required field, or without its last entry, the part that contains it is useless.
    const parent = path.slice(0, -1);
    const list = valueAt(plain, parent);
    const target = found === undefined || (Array.isArray(list) && list.length === 1) ? parent : path;
    if (target === parent && done.has(JSON.stringify(parent))) return;
    done.add(JSON.stringify(target));
    if (target.length === 0) return;
    const replaced = target === parent ? this.#input.standIns(target) : undefined;
    this.current = replaced === undefined ? removeAt(this.current, target) : addStandIn(this.current, target, replaced);
  }
}

/** In the order of the file. Inner paths come after the outer ones. */
function comparePaths(a: ValuePath, b: ValuePath): number {
  for (const [index, step] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    if (step === other) continue;
    return typeof step === 'number' && typeof other === 'number' ? step - other : String(step) < String(other) ? -1 : 1;
  }
  return a.length - b.length;
}

/** The value that was probably meant. */
function suggestCorrection({ issue }: Pick<Finding, 'issue'>, found: unknown): unknown {
  // Rules between fields may depend on the value, and a wrong guess would break others.
  if (issue.code === 'custom' || !['string', 'number', 'boolean'].includes(typeof found)) return undefined;
  if (typeof found === 'string') {
    const [meant] = closestMatches(found, knownValues(issue));
    if (meant !== undefined) return meant;
  }
  const expectedType =
    issue.code === 'invalid_type' ? issue.expected : issue.code === 'invalid_value' ? typeof issue.values[0] : '';
  if (expectedType === 'string') return issue.code === 'invalid_type' ? String(found) : undefined;
  if (expectedType === 'array') return [found];
  if (expectedType === 'boolean') return BOOLEAN_WORDS.get(String(found).toLowerCase());
  if (
    (expectedType === 'number' || expectedType === 'int') &&
    typeof found === 'string' &&
    /^-?\d+(\.\d+)?$/.test(found)
  )
    return Number(found);
  return undefined;
}
