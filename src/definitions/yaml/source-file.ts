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
  Parser,
  type YAMLMap,
} from 'yaml';
import { looksLikeSecret } from './secret-detection.ts';

/** A YAML file, with the positions of its values. Plain data, so that it can be sent between threads. */
export interface SourceFile {
  /** The name in diagnostics. */
  readonly file: string;
  readonly text: string;
  /** Offsets at which the lines start. */
  readonly lines: Uint32Array;
  /** Absent if the file has no value. */
  readonly tree?: SourceNode;
}

/** The position of a value. An alias has the fields and items of its anchor. */
export interface SourceNode {
  readonly offset?: number;
  /** The offset after the last character of the value. */
  readonly end?: number;
  /** A field without a value (`title:`). */
  readonly empty?: true;
  readonly fields?: ReadonlyMap<string, SourceField>;
  readonly items?: readonly (SourceNode | undefined)[];
  /** Key or index in the file, if the corrected value has another one. */
  readonly step?: string | number;
  /** Not in the file: it replaces a value that is missing or invalid. */
  readonly standIn?: true;
}

export interface SourceField {
  /** Offset of the name. */
  readonly key?: number;
  readonly keyEnd?: number;
  readonly value?: SourceNode;
}

export interface ParsedYaml {
  readonly source: SourceFile;
  /** It lists syntax errors in `errors` and `warnings`. */
  readonly document: Document;
  /** Set if parsing ended early. */
  readonly stoppedAt?: ParseStop;
}

/** Keys and indexes from the root to a value, e.g. `['sections', 2, 'metrics', 0]`. */
export type ValuePath = readonly (string | number)[];

/** Line and column, both counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/**
 * The deepest nesting of collections. A definition needs ten. The composer is recursive, and a few thousand overflow
 * the stack.
 */
const MAX_DEPTH = 64;

/** Parses YAML 1.2 with core types only. */
export function parseYamlDocument(file: string, text: string): ParsedYaml {
  const { document = new Document(), stop: stoppedAt } = withoutStackTraces(() => composeDocument(text));
  const tree = sourceTree(document.contents, new Map());
  const source = { file, text, lines: lineStarts(text), ...(tree === undefined ? {} : { tree }) };
  return { source, document, ...(stoppedAt === undefined ? {} : { stoppedAt }) };
}

function composeDocument(text: string): { document?: Document; stop?: ParseStop } {
  const parser = new Parser();
  const composer = new Composer({
    version: '1.2',
    schema: 'core',
    stringKeys: true,
    // The library's check is quadratic. Ours is in `yaml-diagnostics.ts`.
    uniqueKeys: false,
    logLevel: 'silent',
  });
  let stop: ParseStop | undefined;
  function* tokens() {
    for (const lexeme of new Lexer().lex(text)) {
      yield* parser.next(lexeme);
      if (parser.stack.length > MAX_DEPTH) {
        stop = { offset: parser.offset, why: 'depth' };
        break;
      }
    }
    yield* parser.end();
  }
  let document: Document | undefined;
  for (const composed of composer.compose(tokens(), true, text.length)) {
    if (document !== undefined) {
      stop ??= { offset: composed.range[0], why: 'documents' };
      break;
    }
    document = composed;
  }
  return { ...(document === undefined ? {} : { document }), ...(stop === undefined ? {} : { stop }) };
}

/**
 * Suppresses stack traces: the parser creates an `Error` for every syntax error, possibly for each character, and their
 * unused stack traces took six times as long as the rest.
 */
function withoutStackTraces<T>(read: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return read();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * Counted from the text, because the parser skips line breaks without reporting them when it recovers from an error.
 */
function lineStarts(text: string): Uint32Array {
  const starts: number[] = [];
  for (let start = 0; start >= 0; start = text.indexOf('\n', start) + 1 || -1) starts.push(start);
  return Uint32Array.from(starts);
}

/** @param anchors the targets of aliases further down */
function sourceTree(node: unknown, anchors: Map<string, SourceNode>): SourceNode | undefined {
  if (!isNode(node)) return undefined;
  const [offset, end] = node.range ?? [];
  const position = offset === undefined || end === undefined ? {} : { offset, end };
  if (isAlias(node)) {
    const { fields, items } = anchors.get(node.source) ?? {};
    return { ...position, ...(fields === undefined ? {} : { fields }), ...(items === undefined ? {} : { items }) };
  }
  const tree: SourceNode = {
    ...position,
    ...(isScalar(node) && node.value === null && offset === end ? { empty: true } : {}),
    ...(isMap(node) ? { fields: buildFields(node, anchors) } : {}),
    ...(isSeq(node) ? { items: node.items.map((item) => sourceTree(item, anchors)) } : {}),
  };
  if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined) anchors.set(node.anchor, tree);
  return tree;
}

function buildFields(map: YAMLMap, anchors: Map<string, SourceNode>): NonNullable<SourceNode['fields']> {
  const fields = new Map<string, SourceField>();
  for (const { key, value } of map.items) {
    const inner = sourceTree(value, anchors);
    if (!isScalar(key)) continue;
    const [start, end] = key.range ?? [];
    // Duplicate fields are an error. The last one counts, as in the value.
    fields.set(String(key.value), {
      ...(start === undefined || end === undefined ? {} : { key: start, keyEnd: end }),
      ...(inner === undefined ? {} : { value: inner }),
    });
  }
  return fields;
}

/** Where parsing ended early, because of deep nesting or a second document. */
export interface ParseStop {
  readonly offset: number;
  readonly why: 'depth' | 'documents';
}

/** The position of an offset in the text, never after its end. */
export function toPosition({ lines, text }: Pick<SourceFile, 'lines' | 'text'>, offset: number): Position {
  const at = Math.min(Math.max(offset, 0), text.length);
  let [low, high] = [0, lines.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((lines[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: at - (lines[low] ?? 0) + 1 };
}

/** Hides a field name that looks like a secret. */
export const shownStep = (step: string | number): string | number =>
  typeof step === 'string' && looksLikeSecret(step) ? '(not shown)' : step;

/** Start and end of a value or a name, and its path in the file. */
export interface Location extends Position {
  readonly end: Position;
  readonly path: ValuePath;
}

/**
 * Finds the position of the value at `path`. A missing field has the start of its parent, a field without a value the
 * start of its name. An alias has the position where it is used, but the values in it have their own positions.
 * @param at `key`: the position of the field's name, for unknown fields
 */
export function locate(source: SourceFile, path: ValuePath, at: 'value' | 'key' = 'value'): Location {
  let node = source.tree;
  let [offset, end] = [node?.offset ?? 0, 0];
  const written: (string | number)[] = [];
  let found = true;
  for (const [index, step] of path.entries()) {
    const field = found ? node?.fields?.get(String(step)) : undefined;
    const child: SourceNode | undefined = field === undefined && found ? node?.items?.[Number(step)] : field?.value;
    written.push(shownStep(child?.step ?? step));
    if (!found) continue;
    const isKeyWanted = at === 'key' && index === path.length - 1;
    const hasValue = child?.offset !== undefined && child.empty !== true && !isKeyWanted;
    const start = hasValue ? child.offset : field?.key;
    if (start === undefined) {
      // The field is missing: showing its whole parent would not help.
      found = false;
      end = 0;
      continue;
    }
    [offset, end] = [start, (hasValue ? child?.end : field?.keyEnd) ?? start];
    node = child;
  }
  const position = toPosition(source, offset);
  return { ...position, end: toPosition(source, Math.max(end, offset)), path: written };
}

export interface VisitedNode {
  readonly node: unknown;
  readonly path: ValuePath;
  /** Set if the node is a field's name. */
  readonly isKey: boolean;
  /** The enclosing collections. */
  readonly ancestors: readonly unknown[];
}

/** All nodes in the order of the text, with field names before values. Aliases are not followed. */
export function walkNodes(root: unknown): readonly VisitedNode[] {
  const visited: VisitedNode[] = [];
  // Fills a list, because with nested generators each would pass on every node below it.
  const visit = (node: unknown, path: ValuePath, ancestors: readonly unknown[]): void => {
    visited.push({ node, path, isKey: false, ancestors });
    if (!isCollection(node)) return;
    const inner = [...ancestors, node];
    for (const [index, item] of node.items.entries()) {
      if (!isPair(item)) {
        visit(item, [...path, index], inner);
      } else {
        const below = [...path, isScalar(item.key) ? String(item.key.value) : ''];
        visited.push({ node: item.key, path: below, isKey: true, ancestors: inner });
        visit(item.value, below, inner);
      }
    }
  };
  visit(root, [], []);
  return visited;
}
