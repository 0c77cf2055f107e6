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

/**
 * A YAML file as it was written: positions can be found in it after its values have been checked. Plain data, so that it
 * can come from another thread.
 */
export interface Source {
  /** As faults name it. */
  readonly file: string;
  readonly text: string;
  /** Offsets at which the lines start. */
  readonly lines: Uint32Array;
  /** Absent for a file without a value. */
  readonly tree?: SourceNode;
}

/** A value of the file, as far as positions are concerned. An alias has the fields and items of what it stands for. */
export interface SourceNode {
  readonly offset?: number;
  /** A field without a value (`title:`). */
  readonly empty?: true;
  readonly fields?: ReadonlyMap<string, { readonly key?: number; readonly value?: SourceNode }>;
  readonly items?: readonly (SourceNode | undefined)[];
}

/** A text as YAML reads it. */
export interface YamlFile {
  readonly source: Source;
  /** What is wrong with the text is in its `errors` and `warnings`. */
  readonly document: Document;
  /** Where reading ended early, and why. */
  readonly stopped?: Stop;
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

/** Reads YAML 1.2 with its core types alone. */
export function readYaml(file: string, text: string): YamlFile {
  const { document = new Document(), stopped } = withoutStacks(() => compose(text));
  const tree = treeOf(document.contents, new Map());
  const source = { file, text, lines: linesOf(text), ...(tree === undefined ? {} : { tree }) };
  return stopped === undefined ? { source, document } : { source, document, stopped };
}

function compose(text: string): { document?: Document; stopped?: Stop } {
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
    if (document !== undefined) {
      stopped ??= { offset: composed.range[0], why: 'documents' };
      break;
    }
    document = composed;
  }
  return { ...(document === undefined ? {} : { document }), ...(stopped === undefined ? {} : { stopped }) };
}

/**
 * The parser makes an `Error` of everything that is wrong, which may be each character; their stacks, which nobody reads,
 * took six times as long as the rest.
 */
function withoutStacks<T>(read: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return read();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Counted from the text: the parser, where it recovers from an error, passes line breaks without telling. */
function linesOf(text: string): Uint32Array {
  const starts: number[] = [];
  for (let start = 0; start >= 0; start = text.indexOf('\n', start) + 1 || -1) starts.push(start);
  return Uint32Array.from(starts);
}

/** @param anchors what aliases further down stand for */
function treeOf(node: unknown, anchors: Map<string, SourceNode>): SourceNode | undefined {
  if (!isNode(node)) return undefined;
  const [offset, end] = node.range ?? [];
  const place = offset === undefined ? {} : { offset };
  if (isAlias(node)) {
    const { fields, items } = anchors.get(node.source) ?? {};
    return { ...place, ...(fields === undefined ? {} : { fields }), ...(items === undefined ? {} : { items }) };
  }
  const made: SourceNode = {
    ...place,
    ...(isScalar(node) && node.value === null && offset === end ? { empty: true } : {}),
    ...(isMap(node) ? { fields: fieldsOf(node, anchors) } : {}),
    ...(isSeq(node) ? { items: node.items.map((item) => treeOf(item, anchors)) } : {}),
  };
  if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined) anchors.set(node.anchor, made);
  return made;
}

function fieldsOf(map: YAMLMap, anchors: Map<string, SourceNode>): NonNullable<SourceNode['fields']> {
  const fields = new Map<string, { key?: number; value?: SourceNode }>();
  for (const { key, value } of map.items) {
    const inside = treeOf(value, anchors);
    // Of two fields of one name, which is a fault, the first is shown.
    if (!isScalar(key) || fields.has(String(key.value))) continue;
    const start = key.range?.[0];
    fields.set(String(key.value), {
      ...(start === undefined ? {} : { key: start }),
      ...(inside === undefined ? {} : { value: inside }),
    });
  }
  return fields;
}

/** Reading went no further than this offset: a nesting too deep, or a second document. */
export interface Stop {
  readonly offset: number;
  readonly why: 'depth' | 'documents';
}

/** The position of an offset of the text; never past its end. */
export function positionOf({ lines, text }: Pick<Source, 'lines' | 'text'>, offset: number): Position {
  const at = Math.min(Math.max(offset, 0), text.length);
  let [low, high] = [0, lines.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((lines[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: at - (lines[low] ?? 0) + 1 };
}

/**
 * Where the value at `path` stands. Of a field that is missing: where its parent starts. An alias is where it is used,
 * and what is inside it where that is written.
 * @param at `key`: where the field's name stands, for a field that should not be there
 */
export function locate(source: Source, path: Path, at: 'value' | 'key' = 'value'): Position {
  let node = source.tree;
  let offset = node?.offset ?? 0;
  for (const [index, step] of path.entries()) {
    const field = node?.fields?.get(String(step));
    if (at === 'key' && index === path.length - 1) return positionOf(source, field?.key ?? offset);
    const child: SourceNode | undefined = field === undefined ? node?.items?.[Number(step)] : field.value;
    // A field without a value is shown at its name.
    const start = (child?.empty ? undefined : child?.offset) ?? field?.key;
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
