import { isAlias, isCollection, isNode, isPair, isScalar, type YAMLError } from 'yaml';
import { comparePositions, type Diagnostic, type DiagnosticText } from '../diagnostics/diagnostic.ts';
import { isSecretField, looksLikeSecret } from './secret-detection.ts';
import { type ParsedYaml, type SourceFile, shownStep, toPosition, type ValuePath, walkNodes } from './source-file.ts';

/** The most aliases per file: enough to reuse some lists, too few for a billion-laughs expansion. */
const MAX_ALIASES = 100;

/**
 * The most values that all aliases expand to: a hundred times the longest list of a filter. The thread's deadline
 * limits the time to read them.
 */
const MAX_ALIASED_VALUES = 100_000;

/**
 * Hints by code of the syntax error. The parser's messages are not used, because they quote the text, which may contain
 * a secret.
 */
const SYNTAX_HINTS: Readonly<Record<string, readonly [expected: string, next: string]>> = {
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
  MULTILINE_IMPLICIT_KEY: [
    '"name: value"',
    'write a ":" and a space after the name, or put a text of several lines in quotes',
  ],
  MULTIPLE_ANCHORS: ['one anchor at most', 'remove one'],
  MULTIPLE_TAGS: ['no tags (a word that starts with "!")', 'quote the text if the "!" belongs to it'],
  NON_STRING_KEY: ['a text as the field name', 'write a plain name before the ":"'],
  TAG_RESOLVE_FAILED: ['no tags (a word that starts with "!")', 'quote the text if the "!" belongs to it'],
  UNEXPECTED_TOKEN: ['the end of the value or a new line', 'quote the text, or move the rest to its own line'],
};
const DEFAULT_SYNTAX_HINT = ['YAML 1.2', 'correct the YAML at this place'] as const;

const offsetDiagnostic = (source: SourceFile, offset: number, text: DiagnosticText): Diagnostic => ({
  file: source.file,
  ...toPosition(source, offset),
  ...text,
});

function syntaxText({ code }: YAMLError): DiagnosticText {
  if (code === 'TAB_AS_INDENT') return TAB;
  const [expected, next] = SYNTAX_HINTS[code] ?? DEFAULT_SYNTAX_HINT;
  return { code: 'yaml.syntax', message: 'invalid YAML', expected, got: `a YAML error (${code})`, next };
}

const ALIAS_OF_NOTHING = {
  code: 'yaml.alias',
  expected: 'an anchor of this name further up',
  got: 'an alias without an anchor',
  next: 'write the value out, or quote the text if the "*" belongs to it',
} as const;

const TAB: DiagnosticText = {
  code: 'yaml.tab',
  message: 'a tab in the indentation',
  expected: 'spaces: YAML does not allow tabs there',
  got: 'a tab',
  next: 'replace each tab by spaces',
};

const UNQUOTED_TEMPLATE: DiagnosticText = {
  code: 'yaml.unquoted_template',
  message: 'a template without quotes',
  expected: 'quotes around a text with {{ }}: YAML reads a brace as a mapping',
  got: 'no quotes',
  next: 'put the whole text in quotes',
};

const MISSING_SPACE: DiagnosticText = {
  code: 'yaml.missing_space',
  message: 'no space after "-"',
  expected: '"- entry"',
  got: '"-" directly before the text',
  next: 'add a space after the "-"',
};

const UNCLOSED_QUOTE: DiagnosticText = {
  code: 'yaml.unclosed_quote',
  message: 'a quote that is not closed',
  expected: 'a second one at the end of the text',
  got: 'none',
  next: 'add it',
};

const MERGE_CONFLICT: DiagnosticText = {
  code: 'yaml.merge_conflict',
  message: 'a merge conflict of git that is not resolved',
  expected: 'one of the two versions',
  got: 'both, with marks between them',
  next: 'keep one version and remove the lines <<<<<<<, ======= and >>>>>>>',
};

const STOP_HINTS = {
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

/** The limit at which reading ended early; undefined if none was reached. */
export const stopDiagnostic = ({ source, stoppedAt }: ParsedYaml): Diagnostic | undefined =>
  stoppedAt === undefined
    ? undefined
    : offsetDiagnostic(source, stoppedAt.offset, { code: 'yaml.syntax', ...STOP_HINTS[stoppedAt.why] });

/** The ranges of quoted texts, to find errors at their ends. */
function quotedRanges(root: unknown): readonly (readonly [start: number, end: number])[] {
  return walkNodes(root).flatMap(({ node }) => {
    if (!isScalar(node) || !node.type?.startsWith('QUOTE_')) return [];
    const [start = 0, end = start] = node.range ?? [];
    return [[start, end] as const];
  });
}

/** The offset of a "-" directly before a text at the beginning of a line, inside a plain scalar or at its start. */
function entryWithoutSpace(text: string, start: number, end: number): number | undefined {
  let lineStart = start;
  while (text[lineStart - 1] === ' ') lineStart -= 1;
  const startsLine = lineStart === 0 || text[lineStart - 1] === '\n';
  if (startsLine && /^-[A-Za-z]/.test(text.slice(start, start + 2))) return start;
  const entry = /\n[ ]*-(?=[A-Za-z])/.exec(text.slice(start, end));
  return entry === null ? undefined : start + entry.index + entry[0].length - 1;
}

interface SyntaxError {
  readonly offset: number;
  readonly text: DiagnosticText;
  /** The error is about the position of a line or a part of it, so it may follow from an error in the line before. */
  readonly placing?: boolean;
}

/**
 * Valid YAML that is almost certainly a mistake: texts that begin with "*", and list entries without a space after "-".
 */
const likelyMistakes = (root: unknown, text: string): SyntaxError[] =>
  walkNodes(root).flatMap(({ node }): SyntaxError[] => {
    if (!isNode(node)) return [];
    const [start = 0, end = start] = node.range ?? [];
    if (isAlias(node)) return /^[\w-]+$/.test(node.source) ? [] : [{ offset: start, text: ALIAS_OF_NOTHING }];
    if (!isScalar(node) || node.type !== 'PLAIN') return [];
    const entry = entryWithoutSpace(text, start, end);
    return entry === undefined ? [] : [{ offset: entry, text: MISSING_SPACE }];
  });

const PLACING = /^(UNEXPECTED_TOKEN|BAD_INDENT|MISSING_CHAR|BLOCK_|MULTILINE_|NON_STRING_KEY)/;

/** The parser's errors. An unclosed quote is reported at the end of the file, but shown where it opens. */
function parserErrors({ contents, errors, warnings }: ParsedYaml['document']): SyntaxError[] {
  const found = [...errors, ...warnings];
  const unclosed = found.findLast(({ code }) => code === 'MISSING_CHAR');
  const quotes = unclosed === undefined ? [] : quotedRanges(contents);
  return found.map((error) => {
    const [offset] = error.pos;
    const quote = error === unclosed ? quotes.find(([start, end]) => start < offset && end >= offset) : undefined;
    if (quote !== undefined) return { offset: quote[0], text: UNCLOSED_QUOTE };
    return { offset, text: syntaxText(error), placing: PLACING.test(error.code) };
  });
}

/** A common mistake that is visible in the line with the error, and its column, counted from 0. */
function mistakeIn(line: string): { readonly column: number; readonly text: DiagnosticText } | undefined {
  const tab = /^ *\t/.exec(line);
  if (tab !== null) return { column: tab[0].length - 1, text: TAB };
  const unquoted = line.replace(/"(?:[^"\\]|\\.)*"|'[^']*'|\s#.*/g, (part) => ' '.repeat(part.length));
  const column = unquoted.search(/\{[{%]/);
  return column === -1 ? undefined : { column, text: UNQUOTED_TEMPLATE };
}

/** All syntax errors, one per line. If there are none, the values can be read. */
export function syntaxDiagnostics({ source, document }: ParsedYaml): readonly Diagnostic[] {
  const found = [...parserErrors(document), ...likelyMistakes(document.contents, source.text)];
  if (found.length === 0) return [];
  const conflicts = [...source.text.matchAll(/^<{7}(?= |\r?$)/gm)];
  if (conflicts.length > 0) return conflicts.map(({ index }) => offsetDiagnostic(source, index, MERGE_CONFLICT));
  let last = -1;
  let behindTab = false;
  return found
    .map((error) => ({ ...error, at: offsetDiagnostic(source, error.offset, error.text) }))
    .sort((a, b) => comparePositions(a.at, b.at))
    .flatMap(({ at, placing }) => {
      const start = source.lines[at.line - 1] ?? 0;
      const mistake = mistakeIn(source.text.slice(start, source.lines[at.line] ?? source.text.length));
      const isBehindTab = behindTab && mistake === undefined;
      const follows = at.line === last || (placing === true && (isBehindTab || at.line === last + 1));
      last = at.line;
      if (mistake?.text === TAB) behindTab = true;
      else if (follows) return [];
      return mistake === undefined ? [at] : [offsetDiagnostic(source, start + mistake.column, mistake.text)];
    })
    .filter(({ line }, index, all) => line !== all[index - 1]?.line);
}

/** Errors in the document's structure, and the paths of literal secrets. */
export interface StructureCheck {
  readonly diagnostics: readonly Diagnostic[];
  readonly secretPaths: readonly ValuePath[];
  /** Each alias refers to an anchor before it, and none is circular. */
  readonly aliasesResolve: boolean;
}

const SECRET_HINT =
  'put the value into the environment or a file and write { env: NAME } or { file: PATH } here; if it was ever committed, replace it';

/** Checks what a schema cannot check or must not print: duplicate fields, invalid aliases, and secrets. */
export function checkStructure({ source, document }: Pick<ParsedYaml, 'source' | 'document'>): StructureCheck {
  const diagnostics: Diagnostic[] = [];
  const secretPaths: ValuePath[] = [];
  const anchors = new Map<string, unknown>();
  const names = new Map<unknown, Set<string>>();
  const aliased = aliasedValueCounter();
  let aliases = 0;
  let values = 0;
  let aliasesResolve = true;
  for (const { node, path, isKey, ancestors } of walkNodes(document.contents)) {
    if (!isNode(node)) continue;
    const [start = 0, end = start] = node.range ?? [];
    const report = (text: DiagnosticText) =>
      diagnostics.push({
        ...offsetDiagnostic(source, start, text),
        end: toPosition(source, end),
        path: path.map(shownStep),
      });
    if (isKey) {
      const name = String(path.at(-1));
      const map = ancestors.at(-1);
      const seen = names.get(map) ?? new Set();
      names.set(map, seen);
      if (seen.has(name)) {
        report({
          code: 'yaml.duplicate_field',
          message: 'a field that is there already',
          expected: 'each field once',
          got: `${quoted(name)} again`,
          next: 'remove one of the two',
        });
      }
      seen.add(name);
    }
    if (isAlias(node)) {
      aliases += 1;
      const target = anchors.get(node.source);
      const isCircular = ancestors.includes(target);
      if (target === undefined || isCircular) {
        aliasesResolve = false;
        report(
          isCircular
            ? { ...ALIAS_OF_NOTHING, expected: 'an alias that does not contain itself', got: 'a loop' }
            : ALIAS_OF_NOTHING,
        );
      } else if (aliases === MAX_ALIASES + 1) {
        aliasesResolve = false;
        report({
          code: 'yaml.alias',
          expected: `at most ${MAX_ALIASES} aliases`,
          got: 'more',
          next: 'write the values out',
        });
      } else if (aliasesResolve) {
        values += aliased(node, target);
        if (values > MAX_ALIASED_VALUES) {
          aliasesResolve = false;
          report({
            code: 'yaml.alias',
            expected: `aliases that come to at most ${MAX_ALIASED_VALUES} values`,
            got: 'more',
            next: 'make the lists shorter, or split the report',
          });
        }
      }
      continue;
    }
    if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined) anchors.set(node.anchor, node);
    if (!isScalar(node) || node.value === null || node.value === '') continue;
    const field = isKey ? undefined : findField(path);
    if ((field !== undefined && isSecretField(field)) || looksLikeSecret(String(node.value))) {
      secretPaths.push(path);
      report({
        code: 'secret.literal',
        message: 'a secret is never written into a file',
        expected: 'a reference, { env: NAME } or { file: PATH }',
        got: 'a value that is or looks like a secret (not shown)',
        next: SECRET_HINT,
      });
    }
  }
  return { diagnostics, secretPaths, aliasesResolve };
}

/** Counts the values that an alias stands for. Aliases inside them were counted earlier. */
function aliasedValueCounter(): (alias: unknown, target: unknown) => number {
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

/** The field that a value belongs to, also if the value is in a list. */
const findField = (path: ValuePath): string | undefined =>
  path.findLast((step): step is string => typeof step === 'string');
const quoted = (name: string) => (looksLikeSecret(name) ? 'a name (not shown)' : JSON.stringify(name.slice(0, 60)));
