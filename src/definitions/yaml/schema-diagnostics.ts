import { z } from 'zod';
import { type Diagnostic, describeValue } from '../diagnostics/diagnostic.ts';
import { closestMatches, didYouMean } from '../diagnostics/suggest.ts';
import { isSecretField, looksLikeSecret } from './secret-detection.ts';
import { locate, type SourceFile, type ValuePath } from './source-file.ts';

type Issue = z.core.$ZodIssue;

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping of fields',
};

/** `1 entry`, `20 entries` */
const countEntries = (count: number | bigint) => (Number(count) === 1 ? '1 entry' : `${count} entries`);

/**
 * The expected value as the end of `expected …`, which is the form of all messages of our schemas. Used for schemas
 * without a message, in place of zod's own sentences.
 */
export const zodErrorMap: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return TYPE_NAMES[issue.expected] ?? `a value of type ${issue.expected}`;
    case 'invalid_value':
      return oneOf(issue.values.map((value) => (typeof value === 'number' ? `the number ${value}` : String(value))));
    case 'unrecognized_keys':
      // The field names: `findingsOf` splits them for the text and the suggestion.
      return issue.inst instanceof z.ZodObject ? fieldsOf(issue.inst).join(' ') : '';
    case 'invalid_union':
      return Array.isArray(issue.options) ? oneOf(issue.options.map(String)) : 'another value';
    case 'too_small':
      if (issue.origin === 'array') return `at least ${countEntries(issue.minimum)}`;
      return issue.origin === 'string' ? `at least ${issue.minimum} characters` : `${issue.minimum} or more`;
    case 'too_big':
      if (issue.origin === 'array') return `at most ${countEntries(issue.maximum)}`;
      return issue.origin === 'string' ? `at most ${issue.maximum} characters` : `at most ${issue.maximum}`;
    default:
      return 'another value';
  }
};

const fieldsOf = (schema: z.ZodObject): string[] => Object.keys(schema.shape);

const oneOf = (values: readonly string[]): string =>
  values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`;

/** If a union's input has the shape of exactly one option, the issues inside that option; else the union's issue. */
function flattenUnion(issue: Issue, base: ValuePath = []): { issue: Issue; path: ValuePath }[] {
  const path = [...base, ...issue.path.map((step) => (typeof step === 'number' ? step : String(step)))];
  if (issue.code === 'invalid_union') {
    const close = issue.errors.filter(
      (option) =>
        !option.some(({ code, path: at }) => at.length === 0 && (code === 'invalid_type' || code === 'invalid_value')),
    );
    const [only] = close;
    if (close.length === 1 && only !== undefined) return only.flatMap((inner) => flattenUnion(inner, path));
  }
  return [{ issue, path }];
}

function valueAt(value: unknown, path: ValuePath): unknown {
  let at = value;
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = Reflect.get(at, step);
  }
  return at;
}

const samePath = (a: ValuePath, b: ValuePath) => a.length === b.length && a.every((step, index) => b[index] === step);

/** A field for a secret, whose value is never shown. */
const isSecretPath = (path: ValuePath) => path.some((step) => typeof step === 'string' && isSecretField(step));

/** An issue without its position. */
interface Finding {
  readonly issue: Issue;
  readonly path: ValuePath;
  /** Set for an unknown field. */
  readonly known?: readonly string[];
}

function findingsOf(issues: readonly Issue[]): Finding[] {
  return issues
    .flatMap((issue) => flattenUnion(issue))
    .flatMap(({ issue, path }): Finding[] => {
      if (issue.code !== 'unrecognized_keys') return [{ issue, path }];
      const known = issue.message.split(' ');
      return issue.keys.map((key) => ({ issue, path: [...path, key], known }));
    });
}

/**
 * The issues of a schema as diagnostics with positions.
 * @param secrets paths that already have a diagnostic and whose values must not be shown
 * @param max number of diagnostics; `more` counts the others
 */
export function issueDiagnostics(
  source: SourceFile,
  value: unknown,
  issues: readonly Issue[],
  secrets: readonly ValuePath[],
  max: number,
): { diagnostics: Diagnostic[]; more: number } {
  const findings = findingsOf(issues);
  const shown = findings.slice(0, max);
  const misspelt = shown.flatMap(({ path, known = [] }) =>
    closestMatches(String(path.at(-1)), known).map((suggestion) => [...path.slice(0, -1), suggestion]),
  );
  const diagnostics = shown.flatMap(({ issue, path, known }) => {
    if (known !== undefined) return [unknownFieldDiagnostic(source, path, known)];
    const at = valueAt(value, path);
    // A misspelt field is not reported as missing as well.
    if (at === undefined && misspelt.some((suggestion) => samePath(suggestion, path))) return [];
    if (issue.code === 'invalid_key') return [keyDiagnostic(source, path, issue.issues[0]?.message ?? issue.message)];
    return secrets.some((secret) => samePath(secret, path)) ? [] : [valueDiagnostic(source, path, at, issue)];
  });
  return { diagnostics, more: findings.length - shown.length };
}

function unknownFieldDiagnostic(source: SourceFile, path: ValuePath, known: readonly string[]): Diagnostic {
  const name = String(path.at(-1));
  const hidden = looksLikeSecret(name);
  return {
    file: source.file,
    ...locate(source, path, 'key'),
    message: 'unknown field',
    expected: oneOf(known),
    got: hidden ? 'a name that looks like a secret (not shown)' : describeValue(name),
    next: (hidden ? undefined : didYouMean(name, known)) ?? 'remove it, or correct its name or indentation',
  };
}

/** A key of a mapping with free keys. */
function keyDiagnostic(source: SourceFile, path: ValuePath, expected: string): Diagnostic {
  const key = String(path.at(-1));
  return {
    file: source.file,
    ...locate(source, path, 'key'),
    expected: `as a key ${expected}`,
    got: looksLikeSecret(key) ? 'a name that looks like a secret (not shown)' : describeValue(key),
    next: 'correct the key, or remove the entry',
  };
}

function valueDiagnostic(source: SourceFile, path: ValuePath, found: unknown, issue: Issue): Diagnostic {
  const name = path.at(-1);
  const missing = found === undefined && typeof name === 'string';
  const params: Record<string, unknown> = (issue.code === 'custom' ? issue.params : undefined) ?? {};
  const known =
    issue.code === 'invalid_value' ? issue.values.filter((value) => typeof value === 'string') : candidates(params);
  const suggestion = typeof found === 'string' && !isSecretPath(path) ? didYouMean(found, known) : undefined;
  const got =
    typeof params.got === 'string'
      ? params.got
      : isSecretPath(path) && found != null
        ? 'another value (not shown)'
        : describeValue(found);
  return {
    file: source.file,
    ...locate(source, path),
    expected: missing ? `the field "${name}": ${issue.message}` : issue.message,
    got,
    next: suggestion ?? hintFor(params, issue, found, missing),
  };
}

const candidates = (params: Record<string, unknown>): readonly string[] =>
  params.near === 'zone'
    ? Intl.supportedValuesOf('timeZone')
    : Array.isArray(params.near)
      ? params.near.map(String)
      : [];

function hintFor(params: Record<string, unknown>, issue: Issue, found: unknown, missing: boolean): string {
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
