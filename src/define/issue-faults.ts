import { z } from 'zod';
import { type Fault, show } from './fault.ts';
import { didYouMean, nearest } from './nearest.ts';
import { isSecretField, looksLikeSecret } from './secret-value.ts';
import { locate, type Path, type Source } from './source.ts';

type Issue = z.core.$ZodIssue;

const NOUNS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping of fields',
};

/** `1 entry`, `20 entries` */
const entries = (count: number | bigint) => (Number(count) === 1 ? '1 entry' : `${count} entries`);

/**
 * What a schema expected, as the end of `expected …`. All wording of our schemas is written that way; this is what is
 * said where a schema has no words of its own, so that zod's own sentences are never shown.
 */
export const expectation: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return NOUNS[issue.expected] ?? `a value of type ${issue.expected}`;
    case 'invalid_value':
      return oneOf(issue.values.map((value) => (typeof value === 'number' ? `the number ${value}` : String(value))));
    case 'unrecognized_keys':
      // The field names themselves: `faultsOf` makes the sentence and the suggestion of them.
      return issue.inst instanceof z.ZodObject ? fieldsOf(issue.inst).join(' ') : '';
    case 'invalid_union':
      return Array.isArray(issue.options) ? oneOf(issue.options.map(String)) : 'another value';
    case 'too_small':
      if (issue.origin === 'array') return `at least ${entries(issue.minimum)}`;
      return issue.origin === 'string' ? `at least ${issue.minimum} characters` : `${issue.minimum} or more`;
    case 'too_big':
      if (issue.origin === 'array') return `at most ${entries(issue.maximum)}`;
      return issue.origin === 'string' ? `at most ${issue.maximum} characters` : `at most ${issue.maximum}`;
    default:
      return 'another value';
  }
};

/** The fields that may be written. */
const fieldsOf = (schema: z.ZodObject): string[] => Object.keys(schema.shape);

const oneOf = (values: readonly string[]): string =>
  values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`;

/** Where a union's input has the shape of exactly one option, what is wrong inside that option; else the union's own issue. */
function flatten(issue: Issue, base: Path = []): { issue: Issue; path: Path }[] {
  const path = [...base, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))];
  if (issue.code === 'invalid_union') {
    const close = issue.errors.filter(
      (option) =>
        !option.some(({ code, path: at }) => at.length === 0 && (code === 'invalid_type' || code === 'invalid_value')),
    );
    const [only] = close;
    if (close.length === 1 && only !== undefined) return only.flatMap((inner) => flatten(inner, path));
  }
  return [{ issue, path }];
}

function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = Reflect.get(at, step);
  }
  return at;
}

const samePath = (a: Path, b: Path) => a.length === b.length && a.every((step, index) => b[index] === step);

/** What has no words for its value: a value in a field of a secret, which may be one even if it does not look like it. */
const isSealed = (path: Path) => path.some((step) => typeof step === 'string' && isSecretField(step));

/** One thing to tell, before its position is looked up. */
interface Finding {
  readonly issue: Issue;
  readonly path: Path;
  /** Set for an unknown field. */
  readonly known?: readonly string[];
}

function findingsOf(issues: readonly Issue[]): Finding[] {
  return issues
    .flatMap((issue) => flatten(issue))
    .flatMap(({ issue, path }): Finding[] => {
      if (issue.code !== 'unrecognized_keys') return [{ issue, path }];
      const known = issue.message.split(' ');
      return issue.keys.map((key) => ({ issue, path: [...path, key], known }));
    });
}

/**
 * The issues of a schema as faults with positions.
 * @param secrets paths that have their own fault already and whose values may not be shown
 * @param most positions are looked up for so many; `more` counts the others
 */
export function faultsOf(
  source: Source,
  value: unknown,
  issues: readonly Issue[],
  secrets: readonly Path[],
  most: number,
): { faults: Fault[]; more: number } {
  const findings = findingsOf(issues);
  const shown = findings.slice(0, most);
  const misspelt = shown.flatMap(({ path, known = [] }) =>
    nearest(String(path.at(-1)), known).map((meant) => [...path.slice(0, -1), meant]),
  );
  const faults = shown.flatMap(({ issue, path, known }) => {
    if (known !== undefined) return [unknownField(source, path, known)];
    const at = valueAt(value, path);
    // A misspelt field is one fault, not also a missing one.
    if (at === undefined && misspelt.some((meant) => samePath(meant, path))) return [];
    return secrets.some((secret) => samePath(secret, path)) ? [] : [valueFault(source, path, at, issue)];
  });
  return { faults, more: findings.length - shown.length };
}

function unknownField(source: Source, path: Path, known: readonly string[]): Fault {
  const name = String(path.at(-1));
  const hidden = looksLikeSecret(name);
  return {
    file: source.file,
    ...locate(source, path, 'key'),
    message: 'unknown field',
    expected: oneOf(known),
    got: hidden ? 'a name that looks like a secret (not shown)' : show(name),
    next: (hidden ? undefined : didYouMean(name, known)) ?? 'remove it, or correct its name or indentation',
  };
}

function valueFault(source: Source, path: Path, found: unknown, issue: Issue): Fault {
  const name = path.at(-1);
  const missing = found === undefined && typeof name === 'string';
  const params: Record<string, unknown> = (issue.code === 'custom' ? issue.params : undefined) ?? {};
  const known =
    issue.code === 'invalid_value' ? issue.values.filter((value) => typeof value === 'string') : candidates(params);
  const suggestion = typeof found === 'string' && !isSealed(path) ? didYouMean(found, known) : undefined;
  const got =
    typeof params.got === 'string'
      ? params.got
      : isSealed(path) && found != null
        ? 'another value (not shown)'
        : show(found);
  return {
    file: source.file,
    ...locate(source, path),
    expected: missing ? `the field "${name}": ${issue.message}` : issue.message,
    got,
    next: suggestion ?? nextFor(params, issue, found, missing),
  };
}

const candidates = (params: Record<string, unknown>): readonly string[] =>
  params.near === 'zone'
    ? Intl.supportedValuesOf('timeZone')
    : Array.isArray(params.near)
      ? params.near.map(String)
      : [];

function nextFor(params: Record<string, unknown>, issue: Issue, found: unknown, missing: boolean): string {
  if (typeof params.next === 'string') return params.next;
  if (missing) return 'add it';
  const wants =
    issue.code === 'invalid_type' ? issue.expected : issue.code === 'invalid_value' ? typeof issue.values[0] : '';
  if (wants === 'string' && (typeof found === 'number' || typeof found === 'boolean')) return 'put the value in quotes';
  if (wants === 'array' && typeof found === 'string') return 'write a list: put the value in brackets, [ ]';
  if (['number', 'int', 'boolean'].includes(wants) && typeof found === 'string')
    return 'write the value without quotes';
  return 'correct the value';
}
