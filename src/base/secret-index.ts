import { MIN_SECRET_LENGTH, type SecretForm } from './secret-forms.ts';

/** From one character to another, the last not included. */
export type Range = readonly [start: number, end: number];

/** How much work it was: characters that were compared or looked at again. */
export interface Work {
  steps: number;
}

/** Many texts to be found. Adding and removing take time by their own number, not by that of the others. */
export interface SecretIndex {
  add(forms: readonly SecretForm[]): void;
  /** Of forms that were added; what was added twice stays until it was removed twice. */
  remove(forms: readonly SecretForm[]): void;
  /** Where any of them, or what is left of one that was cut off, stands: in order, apart from each other. */
  find(text: string, work?: Work): Range[];
}

/** So many first characters of a secret are a leak where the rest was cut off, and so many anywhere. */
const MIN_CUT_PREFIX = 8;
const MIN_PREFIX = 16;
const CUT = ['…', '...', '***'];

const FILTER_BITS = 16;
const hash = (one: number, two: number, three: number): number =>
  ((one * 31 + two) * 31 + three) & ((1 << FILTER_BITS) - 1);
const hashAt = (text: string, at: number): number =>
  hash(text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2));

/** Forms with the same first characters. */
interface Bucket {
  readonly counts: Map<string, { readonly form: SecretForm; count: number }>;
  /** Made when first asked for after a change. */
  sorted: { readonly whole: Sorted; readonly partial: Sorted } | undefined;
}

/** Forms in the order of their texts. `parents[i]` is the place of the longest one that form `i` begins with; -1 without. */
interface Sorted {
  readonly forms: readonly SecretForm[];
  readonly parents: readonly number[];
}

/** So many characters are the same, and whether they are of base64. */
interface Hit {
  readonly length: number;
  readonly base64: boolean;
}

/**
 * Takes one look at each character of the text, and where the first characters agree a binary search among the forms that
 * begin so: neither many secrets nor a text that is made for it takes long.
 */
export function secretIndex(): SecretIndex {
  const buckets = new Map<string, Bucket>();
  /** In how many buckets the first three characters are. */
  const filter = new Uint16Array(1 << FILTER_BITS);
  const change = (form: SecretForm, by: 1 | -1): void => {
    const head = form.text.slice(0, MIN_SECRET_LENGTH);
    const bucket = buckets.get(head) ?? { counts: new Map(), sorted: undefined };
    const name = `${form.partial}${form.base64}${form.text}`;
    const count = (bucket.counts.get(name)?.count ?? 0) + by;
    if (count <= 0) bucket.counts.delete(name);
    else bucket.counts.set(name, { form, count });
    bucket.sorted = undefined;
    const slot = hashAt(head, 0);
    const isKnown = buckets.has(head);
    if (bucket.counts.size > 0 && !isKnown) {
      buckets.set(head, bucket);
      filter[slot] = (filter[slot] ?? 0) + 1;
    } else if (bucket.counts.size === 0 && isKnown) {
      buckets.delete(head);
      filter[slot] = (filter[slot] ?? 1) - 1;
    }
  };
  return {
    add: (forms) => {
      for (const form of forms) change(form, 1);
    },
    remove: (forms) => {
      for (const form of forms) change(form, -1);
    },
    find: (text, work = { steps: 0 }) => {
      const found: [start: number, end: number][] = [];
      const run = base64Runs(text, work);
      for (let at = 0; at <= text.length - MIN_SECRET_LENGTH; at += 1) {
        if (filter[hashAt(text, at)] === 0) continue;
        const bucket = buckets.get(text.slice(at, at + MIN_SECRET_LENGTH));
        if (bucket === undefined) continue;
        bucket.sorted ??= sortedOf(bucket);
        const hit = longer(
          hitAt(text, at, bucket.sorted.whole, false, work),
          hitAt(text, at, bucket.sorted.partial, true, work),
        );
        if (hit === undefined) continue;
        const [start, end] = hit.base64 ? run(at, at + hit.length) : [at, at + hit.length];
        const last = found.at(-1);
        // The next secret may begin within this one: what is found goes on from character to character all the same.
        if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
        else found.push([start, end]);
      }
      return found;
    },
  };
}

function sortedOf({ counts }: Bucket) {
  const forms = [...counts.values()].map(({ form }) => form);
  return {
    whole: inOrder(forms.filter(({ partial }) => !partial)),
    partial: inOrder(forms.filter(({ partial }) => partial)),
  };
}

function inOrder(given: readonly SecretForm[]): Sorted {
  const forms = [...given].sort((one, other) =>
    one.text < other.text ? -1 : one.text > other.text ? 1 : Number(one.base64) - Number(other.base64),
  );
  const open: number[] = [];
  const parents = forms.map(({ text }, index) => {
    while (open.length > 0 && !text.startsWith(forms[open.at(-1) ?? 0]?.text ?? '')) open.pop();
    const parent = open.at(-1) ?? -1;
    open.push(index);
    return parent;
  });
  return { forms, parents };
}

const longer = (one: Hit | undefined, other: Hit | undefined): Hit | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  if (one.length === other.length) return { length: one.length, base64: one.base64 || other.base64 };
  return one.length > other.length ? one : other;
};

/** The longest of these forms that the text goes on with here, or the longest part of one that was cut off. */
function hitAt(text: string, at: number, { forms, parents }: Sorted, partial: boolean, work: Work): Hit | undefined {
  // Between the form before the text in the order and the one after it; each shares as many first characters with the text.
  let [before, after] = [-1, forms.length];
  let [sameBefore, sameAfter] = [MIN_SECRET_LENGTH, MIN_SECRET_LENGTH];
  while (after - before > 1) {
    const middle = (before + after) >> 1;
    const form = forms[middle]?.text ?? '';
    let same = Math.min(sameBefore, sameAfter);
    while (same < form.length && form.charCodeAt(same) === text.charCodeAt(at + same)) same += 1;
    work.steps += 1 + same - Math.min(sameBefore, sameAfter);
    if (same === form.length || form.charCodeAt(same) < text.charCodeAt(at + same)) {
      [before, sameBefore] = [middle, same];
    } else [after, sameAfter] = [middle, same];
  }
  let whole = before;
  while (whole >= 0 && (forms[whole]?.text.length ?? 0) > sameBefore) whole = parents[whole] ?? -1;
  const form = forms[whole];
  const best = form && { length: form.text.length, base64: form.base64 };
  if (!partial) return best;
  const cut = (index: number, same: number): Hit | undefined => {
    const of = forms[index];
    return of !== undefined && isCutOff(text, at, same) ? { length: same, base64: of.base64 } : undefined;
  };
  return longer(best, longer(cut(before, sameBefore), cut(after, sameAfter)));
}

/** Whether so many first characters of a secret tell of it, though others follow than its own. */
function isCutOff(text: string, at: number, same: number): boolean {
  if (same < MIN_CUT_PREFIX) return false;
  const end = at + same;
  if (same >= MIN_PREFIX || end === text.length) return true;
  // A secret may go on with a dot, as the mark begins.
  return CUT.some((mark) =>
    [0, 1, 2].some((back) => same - back >= MIN_CUT_PREFIX && text.startsWith(mark, end - back)),
  );
}

/** As far as a login in base64 may reach beyond the secret in it. */
const MAX_RUN = 200;
const DIGIT = /[\w+/-]/;

/**
 * The digits of base64 around the ones asked for, with the padding behind them. To be asked from the front to the back:
 * no character is looked at twice.
 */
function base64Runs(text: string, work: Work): (start: number, end: number) => Range {
  /** What was looked at so far; `open`: up to here they are digits of a run that goes on. */
  let read = 0;
  let open = false;
  const isDigit = (at: number): boolean => {
    work.steps += 1;
    return DIGIT.test(text.charAt(at));
  };
  return (start, end) => {
    let from = start;
    while (from > read && start - from < MAX_RUN && isDigit(from - 1)) from -= 1;
    // Within a run that has ended there is nothing more to find behind it.
    if (end <= read && !open) return [from, read];
    let to = Math.max(end, read);
    while (to < text.length && to - end < MAX_RUN && isDigit(to)) to += 1;
    open = to < text.length && to - end >= MAX_RUN;
    for (let pad = 0; pad < 2 && !open && text.charAt(to) === '='; pad += 1) to += 1;
    read = to;
    return [from, to];
  };
}
