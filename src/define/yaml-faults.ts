import { isAlias, isCollection, isNode, isPair, isScalar, type YAMLError } from 'yaml';
import type { Fault } from './fault.ts';
import { isSecretField, looksLikeSecret } from './secret-value.ts';
import { nodesOf, type Path, positionOf, type Source, type YamlFile } from './source.ts';

/** More would be the echo of the first ones. */
const MOST_SYNTAX_FAULTS = 10;

/** Aliases of a file: reuse of a list here and there, not a document that grows when it is read. */
export const MAX_ALIASES = 100;

/**
 * Values that all aliases come to together: a hundred of a list as long as a filter's may be. Aliases of long lists
 * multiply them, and what reads them takes as long: the thread's deadline bounds that.
 */
export const MAX_ALIASED = 100_000;

/** What a parse error's code expects. The parser's own messages are not used: they repeat the text, which may hold a secret. */
const EXPECTED: Readonly<Record<string, readonly [expected: string, next: string]>> = {
  BAD_ALIAS: ['the name of an anchor after "*"', 'quote the text if the "*" belongs to it'],
  BAD_DIRECTIVE: ['no directive (a line that starts with "%")', 'remove the line'],
  BAD_DQ_ESCAPE: ['an escape that YAML knows after "\\"', "write \\\\ for a backslash, or use '…' quotes"],
  BAD_INDENT: ['lines that belong together indented alike, and brackets closed', 'align the line with its neighbours'],
  BAD_PROP_ORDER: ['anchors and tags before the value', 'move or remove the anchor or tag'],
  BAD_SCALAR_START: ['a text in quotes', 'quote the text: this character cannot start one in YAML'],
  BLOCK_AS_IMPLICIT_KEY: ['one "name: value" a line', 'quote the text if it contains ": "'],
  BLOCK_IN_FLOW: ['no indented list or mapping inside brackets', 'write it in brackets too, or take it out'],
  KEY_OVER_1024_CHARS: ['a field name of at most 1024 characters', 'shorten the name'],
  MISSING_CHAR: ['a closing quote or bracket, or a space between parts', 'close what was opened before this place'],
  MULTILINE_IMPLICIT_KEY: ['a field name on one line', 'write "name: value" on one line'],
  MULTIPLE_ANCHORS: ['one anchor at most', 'remove one'],
  MULTIPLE_TAGS: ['no tags (a word that starts with "!")', 'quote the text if the "!" belongs to it'],
  NON_STRING_KEY: ['a text as the field name', 'write a plain name before the ":"'],
  TAB_AS_INDENT: ['spaces as indentation', 'replace the tab by spaces'],
  TAG_RESOLVE_FAILED: ['no tags (a word that starts with "!")', 'quote the text if the "!" belongs to it'],
  UNEXPECTED_TOKEN: ['the end of the value or a new line', 'quote the text, or move the rest to its own line'],
};
const ANY_SYNTAX = ['YAML 1.2', 'correct the YAML at this place'] as const;

const fault = (source: Source, offset: number, parts: Pick<Fault, 'message' | 'expected' | 'got' | 'next'>): Fault => ({
  file: source.file,
  ...positionOf(source, offset),
  ...parts,
});

function syntaxFault(source: Source, error: YAMLError): Fault {
  const [expected, next] = EXPECTED[error.code] ?? ANY_SYNTAX;
  return fault(source, error.pos[0], {
    message: 'this is not YAML',
    expected,
    got: `a YAML error (${error.code})`,
    next,
  });
}

const STOPS = {
  depth: {
    expected: 'at most 64 levels of lists and mappings',
    got: 'a deeper one',
    next: 'flatten the file; a definition needs about ten levels',
  },
  documents: {
    expected: 'one YAML document a file',
    got: 'a second one after "---"',
    next: 'move it to a file of its own',
  },
} as const;

/** Faults of the text itself. When there are any, its values say nothing reliable and are not checked. */
export function syntaxFaults({ source, document, stopped }: YamlFile): Fault[] {
  if (stopped !== undefined) return [fault(source, stopped.offset, STOPS[stopped.why])];
  const { errors, warnings } = document;
  return [...errors, ...warnings].slice(0, MOST_SYNTAX_FAULTS).map((error) => syntaxFault(source, error));
}

/** Faults of the document's structure, and the paths of secrets that are written out. */
export interface Structure {
  readonly faults: readonly Fault[];
  readonly secrets: readonly Path[];
  /** The aliases can be followed: each names an anchor before it and none leads into itself. */
  readonly sound: boolean;
}

const SECRET_NEXT =
  'put the value into the environment or a file and write { env: NAME } or { file: PATH } here; if it was ever committed, replace it';

/** Duplicate fields, aliases that cannot be followed, and secrets: everything a schema cannot see or must not print. */
export function structureOf({ source, document }: Pick<YamlFile, 'source' | 'document'>): Structure {
  const faults: Fault[] = [];
  const secrets: Path[] = [];
  const anchors = new Map<string, unknown>();
  const names = new Map<unknown, Set<string>>();
  const aliased = countAliased();
  let aliases = 0;
  let values = 0;
  let sound = true;
  for (const { node, path, isKey, around } of nodesOf(document.contents)) {
    if (!isNode(node)) continue;
    const offset = node.range?.[0] ?? 0;
    const report = (parts: Pick<Fault, 'message' | 'expected' | 'got' | 'next'>) =>
      faults.push(fault(source, offset, parts));
    if (isKey) {
      const name = String(path.at(-1));
      const map = around.at(-1);
      const seen = names.get(map) ?? new Set();
      names.set(map, seen);
      if (seen.has(name)) {
        report({ expected: 'each field once', got: `${quoted(name)} again`, next: 'remove one of the two' });
      }
      seen.add(name);
    }
    if (isAlias(node)) {
      aliases += 1;
      const target = anchors.get(node.source);
      const loops = around.includes(target);
      if (target === undefined || loops) {
        sound = false;
        report({
          expected: loops ? 'an alias that does not contain itself' : 'an alias of an anchor further up',
          got: loops ? 'a loop' : 'an alias of nothing',
          next: 'write the value out, or quote the text if the "*" belongs to it',
        });
      } else if (aliases === MAX_ALIASES + 1) {
        sound = false;
        report({ expected: `at most ${MAX_ALIASES} aliases`, got: 'more', next: 'write the values out' });
      } else if (sound) {
        values += aliased(node, target);
        if (values > MAX_ALIASED) {
          sound = false;
          report({
            expected: `aliases that come to at most ${MAX_ALIASED} values`,
            got: 'more',
            next: 'make the lists shorter, or split the report',
          });
        }
      }
      continue;
    }
    if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined) anchors.set(node.anchor, node);
    if (!isScalar(node) || node.value === null || node.value === '') continue;
    const field = isKey ? undefined : fieldOf(path);
    if ((field !== undefined && isSecretField(field)) || looksLikeSecret(String(node.value))) {
      secrets.push(path);
      report({
        message: 'a secret is never written into a file',
        expected: 'a reference, { env: NAME } or { file: PATH }',
        got: 'a value that is or looks like a secret (not shown)',
        next: SECRET_NEXT,
      });
    }
  }
  return { faults, secrets, sound };
}

/** Counts the values that an alias stands for; those of aliases in it were counted when it was met. */
function countAliased(): (alias: unknown, target: unknown) => number {
  const counted = new Map<unknown, number>();
  const count = (node: unknown): number => {
    const known = counted.get(node);
    if (known !== undefined) return known;
    if (isPair(node)) return count(node.value);
    return isCollection(node) ? node.items.reduce<number>((sum, item) => sum + count(item), 1) : 1;
  };
  return (alias, target) => {
    const values = count(target);
    counted.set(target, values);
    counted.set(alias, values);
    return values;
  };
}

/** The field a value belongs to, for a value in a list too. */
const fieldOf = (path: Path): string | undefined => path.findLast((step): step is string => typeof step === 'string');
const quoted = (name: string) => (looksLikeSecret(name) ? 'a name (not shown)' : JSON.stringify(name.slice(0, 60)));
