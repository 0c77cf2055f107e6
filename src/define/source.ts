import {
  Composer,
  Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Pair,
  Parser,
} from 'yaml';

/** A YAML file as it was written: positions can be found in it after its values have been checked. */
export interface Source {
  /** As faults name it. */
  readonly file: string;
  readonly text: string;
  readonly document: Document;
  readonly lines: LineCounter;
}

/** Keys and indexes from the root to a value, e.g. `['sections', 2, 'metrics', 0]`. */
export type Path = readonly (string | number)[];

/** Line and column, both from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Collections inside each other. A definition needs ten; the composer recurses, and some thousands end the process. */
const MAX_DEPTH = 64;

/**
 * Reads YAML 1.2 with its core types alone. What is wrong with it is in `document.errors` and `document.warnings`.
 * @returns `stopped`: the offset at which reading ended early, and why
 */
export function readYaml(file: string, text: string): { source: Source; stopped?: Stop } {
  const lines = linesOf(text);
  const parser = new Parser();
  const composer = new Composer({
    version: '1.2',
    schema: 'core',
    stringKeys: true,
    // Its own check compares every key with every other; ours is in `yaml-faults.ts`.
    uniqueKeys: false,
    logLevel: 'silent',
  });
  let stopped: Stop | undefined;
  function* tokens() {
    for (const lexeme of new Lexer().lex(text)) {
      yield* parser.next(lexeme);
      if (parser.stack.length > MAX_DEPTH) {
        stopped = { offset: parser.offset, why: 'depth' };
        break;
      }
    }
    yield* parser.end();
  }
  let document: Document | undefined;
  for (const composed of composer.compose(tokens(), true, text.length)) {
    if (document === undefined) {
      document = composed;
    } else {
      stopped ??= { offset: composed.range[0], why: 'documents' };
      break;
    }
  }
  const source = { file, text, document: document ?? new Document(), lines };
  return stopped === undefined ? { source } : { source, stopped };
}

/** Counted from the text: the parser, where it recovers from an error, passes line breaks without telling. */
function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  for (let start = 0; start >= 0; start = text.indexOf('\n', start) + 1 || -1) lines.addNewLine(start);
  return lines;
}

/** Reading went no further than this offset: a nesting too deep, or a second document. */
export interface Stop {
  readonly offset: number;
  readonly why: 'depth' | 'documents';
}

/** The position of an offset of the text; never past its end. */
export function positionOf(source: Pick<Source, 'lines' | 'text'>, offset: number): Position {
  const { line, col } = source.lines.linePos(Math.min(Math.max(offset, 0), source.text.length));
  // An empty text has no line to count.
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

/** Where a node of the document starts, or undefined when it has no text of its own. */
const startOf = (node: unknown): number | undefined => (isNode(node) ? node.range?.[0] : undefined);

const pairAt = (node: unknown, key: string | number): Pair | undefined =>
  isMap(node) ? node.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === String(key)) : undefined;

/**
 * Where the value at `path` stands. Of a field that is missing: where its parent starts. An alias is where it is used,
 * and what is inside it where that is written.
 * @param at `key`: where the field's name stands, for a field that should not be there
 */
export function locate(source: Source, path: Path, at: 'value' | 'key' = 'value'): Position {
  let node: unknown = source.document.contents;
  let offset = startOf(node) ?? 0;
  for (const [index, step] of path.entries()) {
    const parent = isAlias(node) ? node.resolve(source.document) : node;
    const pair = pairAt(parent, step);
    const child = pair === undefined && isSeq(parent) ? parent.items[Number(step)] : pair?.value;
    const key = startOf(pair?.key);
    if (at === 'key' && index === path.length - 1) return positionOf(source, key ?? offset);
    // A field without a value (`title:`) is shown at its name.
    const empty = isScalar(child) && child.value === null && child.range?.[0] === child.range?.[1];
    const start = (empty ? undefined : startOf(child)) ?? key;
    if (start === undefined) break;
    offset = start;
    node = child;
  }
  return positionOf(source, offset);
}

/** What each part of a document is given with: its path, the field it is in and how deep it stands. */
export interface Visit {
  readonly node: unknown;
  readonly path: Path;
  /** Set for a field's name. */
  readonly isKey: boolean;
  /** The collections around it. */
  readonly around: readonly unknown[];
}

/** Every node in the order of the text, field names before values. Aliases are not followed. */
export function* nodesOf(node: unknown, path: Path = [], around: readonly unknown[] = []): Generator<Visit> {
  yield { node, path, isKey: false, around };
  if (!isCollection(node)) return;
  const inside = [...around, node];
  for (const [index, item] of node.items.entries()) {
    if (!isPair(item)) {
      yield* nodesOf(item, [...path, index], inside);
    } else {
      const key = isScalar(item.key) ? String(item.key.value) : '';
      yield { node: item.key, path: [...path, key], isKey: true, around: inside };
      yield* nodesOf(item.value, [...path, key], inside);
    }
  }
}
