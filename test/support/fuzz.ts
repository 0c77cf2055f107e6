import fc from 'fast-check';
import { expect, inject } from 'vitest';
import { DocketError, ERRORS } from '../../src/base/error.ts';

const FACTOR = Math.max(1, Number(process.env.FUZZ_RUNS ?? 1) || 1);
const SHARE = inject('fuzzShare') ?? 1;

/** A fixed seed, so that a failure comes from the change. `FUZZ_RUNS` draws new inputs. */
const SEED = 20_261_121;

/**
 * The options of a property or fuzz test: a tenth of the cases in the fast tier, `FUZZ_RUNS` times as many if that is set.
 * A failure prints its seed and path. It is not shrunk, because that can take an hour; set `FUZZ_SHRINK=1` for it.
 */
export const cases = (
  count: number,
): { readonly numRuns: number; readonly seed?: number; readonly endOnFailure: boolean } => ({
  numRuns: Math.ceil(count * FACTOR * SHARE),
  endOnFailure: process.env.FUZZ_SHRINK !== '1',
  ...(FACTOR === 1 ? { seed: SEED } : {}),
});
/** Whether all cases are drawn. The fast tier may draw too few to meet every kind of value. */
export const ALL_CASES = SHARE >= 1;
/** The least number of cases of a kind that a test must have met to prove anything. */
export const least = (count: number): number => (ALL_CASES ? count : -1);
/** The time limit of a test in ms, from the seconds it takes on an idle machine. It only ends tests that hang. */
export const within = (seconds: number): number => seconds * 45_000 * FACTOR;

/** Signs that an error is not a sentence for people: a stack, a class name, an object printed by accident. */
const NO_SENTENCE = /\n\s+at \S+ \(|\[object \w+\]|\bundefined is not|is not a function|Cannot read propert/;

/** Asserts that an error may be shown to people: it has a known code, consists of sentences, and survives JSON. */
export function assertDocketError(thrown: unknown, context?: unknown): asserts thrown is DocketError {
  if (!(thrown instanceof DocketError)) throw new Error(`no DocketError for ${show(context)}`, { cause: thrown });
  expect(Object.hasOwn(ERRORS, thrown.code), thrown.code).toBe(true);
  // An unforeseen error counts as a defect, which fuzzing has to find.
  expect(thrown.code, show(context)).not.toBe('internal.defect');
  expect(thrown.message, show(context)).toMatch(/^[\p{L}`"$].*[.:\]]?/su);
  expect(`${thrown.message} ${thrown.next ?? ''}`, show(context)).not.toMatch(NO_SENTENCE);
  expect(JSON.parse(JSON.stringify(thrown))).toEqual(thrown.toJSON());
}

const show = (value: unknown): string => {
  try {
    return String(JSON.stringify(value)).slice(0, 2_000);
  } catch {
    return 'what cannot be shown';
  }
};

/** The result, or undefined for an error that may be shown to people. Other errors fail the test. */
export function readOrUndefined<T>(read: () => T, context?: unknown): T | undefined {
  try {
    return read();
  } catch (thrown) {
    assertDocketError(thrown, context);
    return undefined;
  }
}

export async function resolveOrUndefined<T>(read: () => Promise<T>, context?: unknown): Promise<T | undefined> {
  try {
    return await read();
  } catch (thrown) {
    assertDocketError(thrown, context);
    return undefined;
  }
}

const PROTOTYPES = [Object, Array, String, Number, Function, Map, Set, RegExp, Date, Error].map(
  ({ prototype }) => prototype,
);
const KEYS = PROTOTYPES.map((prototype) => Reflect.ownKeys(prototype).length);

/** Asserts that no input has changed the prototypes of objects. */
export function expectCleanPrototypes(): void {
  expect(PROTOTYPES.map((prototype) => Reflect.ownKeys(prototype).length)).toEqual(KEYS);
}

/** Names that every object has, and names that change its prototype. */
export const INHERITED = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf'] as const;

/** Texts that break parsers, files, mails, spreadsheets and terminals. */
export const HOSTILE_FRAGMENTS = [
  ...['', ' ', '\t', '\n', '\r', '\r\n', '\0', '\u0007', '\u000b', '\u001b[2J', '\u007f', '\u0085', '\u009b'],
  ...['\u00a0', '\u200b', '\u200f', '\u2028', '\u202e', '\u2066', '\ufeff', '\ufffe', '\uffff', '\ud800', '\udc00'],
  ...['=cmd|', "=1+1'", '+', '-', '@', '＝', ';=', '"', "'", ',', ';', '""', '`', '\\', '/', '..', '../', 'CON', '~'],
  ...['<', '>', '&', ']]>', '<!--', '_x0041_', '&amp;', '%', '%00', '%zz', '%0d%0a', '?', '#', ':', '://', '[', '{'],
  ...[
    '{{',
    '}}',
    '{% raw %}',
    '{{ title }}',
    '$',
    '*',
    '&a',
    '!!js',
    '---',
    '- ',
    ': ',
    '<<',
    '|',
    '😀',
    '日本',
    'ä',
    'A\u0301',
  ],
  ...[
    'null',
    'true',
    'NaN',
    '-0',
    '1e400',
    '0x10',
    '٣',
    '9007199254740993',
    '99999999999999999999',
    '1e-7',
    ...INHERITED,
  ],
] as const;

/** Some hostile fragments with any text between them. */
export const hostileText = (most = 6): fc.Arbitrary<string> =>
  fc
    .array(
      fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom(...HOSTILE_FRAGMENTS) },
        { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
        { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }) },
      ),
      { maxLength: most },
    )
    .map((parts) => parts.join(''));

/** A valid text with a few changes, such as typing errors and texts just outside of the grammar. */
export const mutatedText = (examples: readonly string[], words: readonly string[] = []): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom(...examples),
      fc.array(
        fc.tuple(
          fc.nat(),
          fc.nat({ max: 4 }),
          fc.oneof(fc.constantFrom(...HOSTILE_FRAGMENTS, ...words, ...words), fc.string({ maxLength: 3 })),
        ),
        {
          maxLength: 3,
        },
      ),
    )
    .map(([text, edits]) =>
      edits.reduce((now, [at, cut, put]) => {
        const start = at % (now.length + 1);
        return now.slice(0, start) + put + now.slice(start + cut);
      }, text),
    );

/** JSON texts of special values: numbers beyond doubles, repeated names, lone surrogates, inherited names. */
const jsonLeaf = fc.oneof(
  fc.constantFrom(
    'null',
    'true',
    'false',
    '0',
    '-0',
    '1e400',
    '-1e400',
    '1e-400',
    '0.1',
    '9007199254740993',
    '-1',
    '1e21',
  ),
  fc.constantFrom('""', '"\\ud800"', '"\\u0000"', '[]', '{}', '{"__proto__":{"polluted":1}}', '[[[]]]'),
  hostileText(3).map((text) => JSON.stringify(text)),
);

/** One change: a value or a name is replaced, removed, doubled or wrapped. */
type Change = {
  readonly at: number;
  readonly kind: 'value' | 'drop' | 'double' | 'name' | 'wrap' | 'deep';
  readonly leaf: string;
  readonly name: string;
};
const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat({ max: 100_000 }),
  kind: fc.constantFrom('value', 'value', 'value', 'drop', 'double', 'name', 'wrap', 'deep'),
  leaf: jsonLeaf,
  name: fc.oneof(fc.constantFrom(...INHERITED, 'id', 'code'), hostileText(2)),
});

/** A JSON document close to a valid one, as text. It can contain what `JSON.stringify` would never write. */
export const mutatedJson = (example: unknown, most = 3): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 12, arbitrary: fc.array(change, { maxLength: most }).map((changes) => written(example, changes)) },
    // Cut off, doubled, followed by something, or empty.
    {
      weight: 2,
      arbitrary: fc.tuple(fc.nat(), fc.array(change, { maxLength: 1 })).map(([at, changes]) => {
        const text = written(example, changes);
        return text.slice(0, at % (text.length + 1));
      }),
    },
    {
      weight: 1,
      arbitrary: fc.oneof(jsonLeaf, hostileText(), fc.constantFrom('', '\ufeff{}', '[1,]', '{"a":1}{"a":1}')),
    },
  );

function written(example: unknown, changes: readonly Change[]): string {
  const places = countOf(example);
  const by = new Map(changes.map((one) => [one.at % places, one] as const));
  let place = 0;
  const write = (value: unknown): string => {
    const found = by.get(place);
    place += 1;
    const plain = (): string => {
      if (Array.isArray(value))
        return `[${value
          .map(write)
          .flatMap((text) => (text === '' ? [] : [text]))
          .join(',')}]`;
      if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
      const parts = Object.entries(value).flatMap(([name, inner]) => {
        const own = by.get(place);
        const text = write(inner);
        if (text === '') return [];
        const named = `${JSON.stringify(own?.kind === 'name' ? own.name : name)}:${text}`;
        return own?.kind === 'double' ? [named, `${JSON.stringify(name)}:${own.leaf}`] : [named];
      });
      return `{${parts.join(',')}}`;
    };
    const text = plain();
    switch (found?.kind) {
      case 'value':
        return found.leaf;
      case 'drop':
        return '';
      case 'wrap':
        return found.at % 2 === 0 ? `[${text}]` : `{"a":${text}}`;
      case 'deep':
        return `${'['.repeat(found.at)}${'1'}${']'.repeat(found.at)}`;
      default:
        return text;
    }
  };
  return write(example);
}

const countOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Object.values(value).reduce((sum: number, inner) => sum + countOf(inner), 0)
    : 1;
