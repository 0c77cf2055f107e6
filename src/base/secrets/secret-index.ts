import { MIN_SECRET_LENGTH, type SecretForm } from './secret-forms.ts';

/** Character offsets; `end` is exclusive. */
export type Range = readonly [start: number, end: number];

/** Counts characters that are compared, or read again. */
export interface WorkCounter {
  steps: number;
}

/** Finds many texts at once. The time for adding and removing does not depend on the other entries. */
export type SecretIndex = ReturnType<typeof secretIndex>;

/** Fewest first characters of a secret that are redacted: before a truncation mark, and anywhere else. */
const MIN_CUT_PREFIX = 8;
const MIN_PREFIX = 16;
const TRUNCATION_MARKS = ['…', '...', '***'];

const FILTER_BITS = 16;
const hash = (one: number, two: number, three: number): number =>
  ((one * 31 + two) * 31 + three) & ((1 << FILTER_BITS) - 1);
const hashAt = (text: string, at: number): number =>
  hash(text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2));

/** Forms with the same first characters. */
interface Bucket {
  readonly counts: Map<string, { readonly form: SecretForm; count: number }>;
  /** Computed by the first search after a change. */
  sorted: { readonly whole: SortedForms; readonly partial: SortedForms } | undefined;
}

/** Forms sorted by text. `parents[i]`: index of the longest form that is a prefix of form `i`; -1 if there is none. */
interface SortedForms {
  readonly forms: readonly SecretForm[];
  readonly parents: readonly number[];
}

interface PrefixMatch {
  readonly length: number;
  readonly base64: boolean;
}

/**
 * Creates an index. A search reads each character of the text once, and does a binary search among the forms with the
 * same first characters. Its time is bounded even for many secrets and for adversarial texts.
 */
export function secretIndex() {
  const buckets = new Map<string, Bucket>();
  /** Number of buckets that start with three characters, by the hash of these. */
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
    add: (forms: readonly SecretForm[]): void => {
      for (const form of forms) change(form, 1);
    },
    /** Removes forms. A form that was added twice must be removed twice. */
    remove: (forms: readonly SecretForm[]): void => {
      for (const form of forms) change(form, -1);
    },
    /** Ranges of the forms in a text, including truncated ones; in order, not overlapping. */
    find: (text: string, work: WorkCounter = { steps: 0 }): Range[] => {
      const found: [start: number, end: number][] = [];
      const run = base64RunFinder(text, work);
      for (let at = 0; at <= text.length - MIN_SECRET_LENGTH; at += 1) {
        if (filter[hashAt(text, at)] === 0) continue;
        const bucket = buckets.get(text.slice(at, at + MIN_SECRET_LENGTH));
        if (bucket === undefined) continue;
        bucket.sorted ??= sortBucket(bucket);
        const hit = longerMatch(
          matchAt(text, at, bucket.sorted.whole, false, work),
          matchAt(text, at, bucket.sorted.partial, true, work),
        );
        if (hit === undefined) continue;
        const [start, end] = hit.base64 ? run(at, at + hit.length) : [at, at + hit.length];
        const last = found.at(-1);
        // The next secret may overlap this one, so the search continues at the next character.
        if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
        else found.push([start, end]);
      }
      return found;
    },
  };
}

function sortBucket({ counts }: Bucket) {
  const forms = [...counts.values()].map(({ form }) => form);
  return {
    whole: sortForms(forms.filter(({ partial }) => !partial)),
    partial: sortForms(forms.filter(({ partial }) => partial)),
  };
}

function sortForms(given: readonly SecretForm[]): SortedForms {
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

const longerMatch = (one: PrefixMatch | undefined, other: PrefixMatch | undefined): PrefixMatch | undefined => {
  if (one === undefined || other === undefined) return one ?? other;
  if (one.length === other.length) return { length: one.length, base64: one.base64 || other.base64 };
  return one.length > other.length ? one : other;
};

/** The longest of these forms, whole or truncated, at this position of the text. */
function matchAt(
  text: string,
  at: number,
  { forms, parents }: SortedForms,
  partial: boolean,
  work: WorkCounter,
): PrefixMatch | undefined {
  // Sorted neighbours of the text, and the lengths of the prefixes that they share with it.
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
  const cut = (index: number, same: number): PrefixMatch | undefined => {
    const of = forms[index];
    return of !== undefined && isTruncatedSecret(text, at, same) ? { length: same, base64: of.base64 } : undefined;
  };
  return longerMatch(best, longerMatch(cut(before, sameBefore), cut(after, sameAfter)));
}

/** Whether to redact a prefix of this length, although other characters follow it. */
function isTruncatedSecret(text: string, at: number, same: number): boolean {
  if (same < MIN_CUT_PREFIX) return false;
  const end = at + same;
  if (same >= MIN_PREFIX || end === text.length) return true;
  // The mark may begin up to two characters earlier, if the secret continues with the same character, e.g. a dot.
  return TRUNCATION_MARKS.some((mark) =>
    [0, 1, 2].some((back) => same - back >= MIN_CUT_PREFIX && text.startsWith(mark, end - back)),
  );
}

/** Most base64 digits of a login around the secret in it. */
const MAX_RUN = 200;
const BASE64_DIGIT = /[\w+/-]/;

/**
 * Extends a range by the adjacent base64 digits and their padding. Call it with ascending ranges, so that no character
 * is read twice.
 */
function base64RunFinder(text: string, work: WorkCounter): (start: number, end: number) => Range {
  /** End of the text read so far. `open`: a run of digits continues beyond it. */
  let read = 0;
  let open = false;
  const isDigit = (at: number): boolean => {
    work.steps += 1;
    return BASE64_DIGIT.test(text.charAt(at));
  };
  return (start, end) => {
    let from = start;
    while (from > read && start - from < MAX_RUN && isDigit(from - 1)) from -= 1;
    // Inside a run whose end is known.
    if (end <= read && !open) return [from, read];
    let to = Math.max(end, read);
    while (to < text.length && to - end < MAX_RUN && isDigit(to)) to += 1;
    open = to < text.length && to - end >= MAX_RUN;
    for (let pad = 0; pad < 2 && !open && text.charAt(to) === '='; pad += 1) to += 1;
    read = to;
    return [from, to];
  };
}
