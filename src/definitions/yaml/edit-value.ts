import type { SourceField, SourceNode, ValuePath } from './source-file.ts';

/** A plain value, and the positions of its parts. Neither is ever changed in place, because aliases share parts. */
export interface PositionedValue {
  readonly plain: unknown;
  readonly tree: SourceNode | undefined;
}

type Edit = (value: PositionedValue) => PositionedValue;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function valueAt(value: unknown, path: ValuePath): unknown {
  let at = value;
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = Reflect.get(at, step);
  }
  return at;
}

export function nodeAt(tree: SourceNode | undefined, path: ValuePath): SourceNode | undefined {
  let at = tree;
  for (const step of path) at = at?.fields?.get(String(step))?.value ?? at?.items?.[Number(step)];
  return at;
}

/** Applies an edit to the value at a path. A path that does not exist changes nothing. */
function editAt({ plain, tree }: PositionedValue, path: ValuePath, edit: Edit): PositionedValue {
  const [step, ...rest] = path;
  if (step === undefined) return edit({ plain, tree });
  if (Array.isArray(plain) && typeof step === 'number' && step < plain.length) {
    const inner = editAt({ plain: plain[step], tree: tree?.items?.[step] }, rest, edit);
    return {
      plain: plain.with(step, inner.plain),
      tree: tree?.items === undefined ? tree : { ...tree, items: tree.items.with(step, inner.tree) },
    };
  }
  if (!isRecord(plain) || !Object.hasOwn(plain, step)) return { plain, tree };
  const field = tree?.fields?.get(String(step));
  const inner = editAt({ plain: plain[step], tree: field?.value }, rest, edit);
  return {
    plain: withField(plain, String(step), inner.plain),
    tree: withFieldNode(tree, String(step), { ...field, ...(inner.tree === undefined ? {} : { value: inner.tree }) }),
  };
}

/** Only own fields are set, because a name may be `__proto__`. */
const withField = (record: Record<string, unknown>, name: string, value: unknown): Record<string, unknown> =>
  Object.fromEntries([...Object.entries(record).filter(([key]) => key !== name), [name, value]]);

const withFieldNode = (tree: SourceNode | undefined, name: string, field: SourceField): SourceNode => ({
  ...tree,
  fields: new Map([...(tree?.fields ?? []), [name, field]]),
});

/** Replaces the value at a path. Its position stays. */
export const replaceAt = (value: PositionedValue, path: ValuePath, plain: unknown): PositionedValue =>
  editAt(value, path, ({ tree }) => ({
    plain,
    // A list of one entry gets the position of that entry.
    tree: Array.isArray(plain) && tree !== undefined && tree.items === undefined ? { ...tree, items: [tree] } : tree,
  }));

/** Adds a value that is not in the file. */
export const addStandIn = (value: PositionedValue, path: ValuePath, plain: unknown): PositionedValue =>
  editAt(value, path.slice(0, -1), (parent) => {
    const name = String(path.at(-1));
    if (!isRecord(parent.plain)) return parent;
    return {
      plain: withField(parent.plain, name, plain),
      tree: withFieldNode(parent.tree, name, { value: { standIn: true } }),
    };
  });

/** Removes a field or an entry of a list. Entries after it keep their index in the file as `step`. */
export const removeAt = (value: PositionedValue, path: ValuePath): PositionedValue =>
  editAt(value, path.slice(0, -1), ({ plain, tree }) => {
    const step = path.at(-1);
    if (Array.isArray(plain) && typeof step === 'number') {
      return {
        plain: plain.toSpliced(step, 1),
        tree: tree?.items && {
          ...tree,
          items: tree.items.map((item, index) => ({ ...item, step: item?.step ?? index })).toSpliced(step, 1),
        },
      };
    }
    if (!isRecord(plain)) return { plain, tree };
    const name = String(step);
    return {
      plain: Object.fromEntries(Object.entries(plain).filter(([key]) => key !== name)),
      tree: tree?.fields && { ...tree, fields: new Map([...tree.fields].filter(([key]) => key !== name)) },
    };
  });

/** Moves a field to another mapping or name. Diagnostics still show its place and name in the file. */
export function moveField(value: PositionedValue, from: ValuePath, to: ValuePath): PositionedValue {
  const name = String(from.at(-1));
  const parent = nodeAt(value.tree, from.slice(0, -1));
  const field = parent?.fields?.get(name);
  const plain = valueAt(value.plain, from);
  const without = removeAt(value, from);
  return editAt(without, to.slice(0, -1), (target) => {
    if (!isRecord(target.plain)) return target;
    const node: SourceNode = { ...field?.value, step: field?.value?.step ?? name };
    return {
      plain: withField(target.plain, String(to.at(-1)), plain),
      tree: withFieldNode(target.tree, String(to.at(-1)), { ...field, value: node }),
    };
  });
}

/** The path in the file of the value at `path`. */
export function originalPath(tree: SourceNode | undefined, path: ValuePath): ValuePath {
  let at = tree;
  return path.map((step) => {
    at = at?.fields?.get(String(step))?.value ?? at?.items?.[Number(step)];
    return at?.step ?? step;
  });
}

/** Whether a part of the path is not in the file. */
export function isStandIn(tree: SourceNode | undefined, path: ValuePath): boolean {
  let at = tree;
  return path.some((step) => {
    at = at?.fields?.get(String(step))?.value ?? at?.items?.[Number(step)];
    return at?.standIn === true;
  });
}
