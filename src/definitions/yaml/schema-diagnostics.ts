import { z } from 'zod';
import { type Diagnostic, describeValue } from '../diagnostics/diagnostic.ts';
import { didYouMean } from '../diagnostics/suggest.ts';
import { valueAt } from './edit-value.ts';
import { isSecretField, looksLikeSecret } from './secret-detection.ts';
import { locate, type SourceFile, type ValuePath } from './source-file.ts';

export type Issue = z.core.$ZodIssue;

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
 * The expected value as the end of `expected …`, the form of all messages in our schemas. It is used for schemas
 * without a message, in place of zod's own sentences.
 */
export const zodErrorMap: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return TYPE_NAMES[issue.expected] ?? `a value of type ${issue.expected}`;
    case 'invalid_value':
      return formatChoice(
        issue.values.map((value) => (typeof value === 'number' ? `the number ${value}` : String(value))),
      );
    case 'unrecognized_keys':
      // The names of the fields. `collectFindings` splits them for the text and the suggestion.
      return issue.inst instanceof z.ZodObject ? listFields(issue.inst).join(' ') : '';
    case 'invalid_union':
      return Array.isArray(issue.options) ? formatChoice(issue.options.map(String)) : 'another value';
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

const listFields = (schema: z.ZodObject): string[] => Object.keys(schema.shape);

const formatChoice = (values: readonly string[]): string =>
  values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`;

/**
 * If a union's input has the shape of exactly one option, the issues inside that option; otherwise the union's own
 * issue.
 */
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

/** Whether a path leads to a field for a secret, whose value is never shown. */
const isSecretPath = (path: ValuePath) => path.some((step) => typeof step === 'string' && isSecretField(step));

/** An issue without its position. */
export interface Finding {
  readonly issue: Issue;
  readonly path: ValuePath;
  /** Set for an unknown field. */
  readonly known?: readonly string[];
}

export function collectFindings(issues: readonly Issue[]): Finding[] {
  return issues
    .flatMap((issue) => flattenUnion(issue))
    .flatMap(({ issue, path }): Finding[] => {
      if (issue.code !== 'unrecognized_keys') return [{ issue, path }];
      const known = issue.message.split(' ');
      return issue.keys.map((key) => ({ issue, path: [...path, key], known }));
    });
}

/**
 * Makes a diagnostic from a finding.
 * @param value the value that the schema validated
 */
export function findingDiagnostic(source: SourceFile, value: unknown, { issue, path, known }: Finding): Diagnostic {
  if (known !== undefined) return unknownFieldDiagnostic(source, path, known);
  if (issue.code === 'invalid_key') return keyDiagnostic(source, path, issue.issues[0]?.message ?? issue.message);
  return valueDiagnostic(source, path, valueAt(value, path), issue);
}

function unknownFieldDiagnostic(source: SourceFile, path: ValuePath, known: readonly string[]): Diagnostic {
  const name = String(path.at(-1));
  const hidden = looksLikeSecret(name);
  return {
    file: source.file,
    ...locate(source, path, 'key'),
    code: 'field.unknown',
    message: 'unknown field',
    expected: formatChoice(known),
    got: hidden ? 'a name that looks like a secret (not shown)' : describeValue(name),
    next: (hidden ? undefined : didYouMean(name, known)) ?? 'remove it, or correct its name or indentation',
  };
}

/** A diagnostic about a key in a mapping with free keys. */
function keyDiagnostic(source: SourceFile, path: ValuePath, expected: string): Diagnostic {
  const key = String(path.at(-1));
  return {
    file: source.file,
    ...locate(source, path, 'key'),
    code: 'field.invalid',
    expected: `as a key ${expected}`,
    got: looksLikeSecret(key) ? 'a name that looks like a secret (not shown)' : describeValue(key),
    next: 'correct the key, or remove the entry',
  };
}

function valueDiagnostic(source: SourceFile, path: ValuePath, found: unknown, issue: Issue): Diagnostic {
  const name = path.at(-1);
  const missing = found === undefined && typeof name === 'string';
  const params: Record<string, unknown> = (issue.code === 'custom' ? issue.params : undefined) ?? {};
  const suggestion =
    typeof found === 'string' && !isSecretPath(path) ? didYouMean(found, knownValues(issue)) : undefined;
  const got =
    typeof params.got === 'string'
      ? params.got
      : isSecretPath(path) && found != null
        ? 'another value (not shown)'
        : describeValue(found);
  return {
    file: source.file,
    ...locate(source, path),
    code: missing ? 'field.missing' : 'field.invalid',
    expected: missing ? `the field "${name}": ${issue.message}` : issue.message,
    got,
    next: suggestion ?? hintFor(params, issue, found, missing),
  };
}

/** The texts that an issue allows, if they are a fixed list. */
export const knownValues = (issue: Issue): readonly string[] =>
  issue.code === 'invalid_value'
    ? issue.values.filter((value) => typeof value === 'string')
    : issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options)
      ? issue.options.map(String)
      : candidates((issue.code === 'custom' ? issue.params : undefined) ?? {});

const candidates = (params: Record<string, unknown>): readonly string[] =>
  params.near === 'zone'
    ? Intl.supportedValuesOf('timeZone')
    : Array.isArray(params.near)
      ? params.near.map(String)
      : [];

/** Words that older versions of YAML read as true or false. */
export const BOOLEAN_WORDS: ReadonlyMap<string, boolean> = new Map([
  ['yes', true],
  ['on', true],
  ['y', true],
  ['true', true],
  ['no', false],
  ['off', false],
  ['n', false],
  ['false', false],
]);

function hintFor(params: Record<string, unknown>, issue: Issue, found: unknown, missing: boolean): string {
  if (typeof params.next === 'string') return params.next;
  if (missing) return 'add it';
  const expectedType =
    issue.code === 'invalid_type' ? issue.expected : issue.code === 'invalid_value' ? typeof issue.values[0] : '';
  if (expectedType === 'string' && (typeof found === 'number' || typeof found === 'boolean'))
    return 'put the value in quotes';
  if (expectedType === 'array' && typeof found === 'string') return 'write a list: put the value in brackets, [ ]';
  if (['number', 'int', 'boolean'].includes(expectedType) && typeof found === 'string')
    return expectedType === 'boolean' && BOOLEAN_WORDS.has(found.toLowerCase())
      ? `write ${BOOLEAN_WORDS.get(found.toLowerCase())}: YAML 1.2 reads "${found}" as a text`
      : 'write the value without quotes';
  return 'correct the value';
}
