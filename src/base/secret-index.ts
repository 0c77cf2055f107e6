import { MIN_SECRET_LENGTH, type SecretForm } from './secret-forms.ts';

/** From one character to another, the last not included. */
export type Range = readonly [start: number, end: number];

/** So many first characters of a secret are a leak where the rest was cut off, and so many anywhere. */
const MIN_CUT_PREFIX = 8;
const MIN_PREFIX = 16;
const CUT = ['…', '...', '***'];

const FILTER_BITS = 16;
const hash = (one: number, two: number, three: number): number =>
  ((one * 31 + two) * 31 + three) & ((1 << FILTER_BITS) - 1);
const hashAt = (text: string, at: number): number =>
  hash(text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2));

/**
 * Finds any of many texts, and what is left of one that was cut off. Takes one look at each character of the text and
 * compares only where the first characters agree, so that neither many secrets nor a text that is made for it takes long.
 */
export function secretIndex(forms: readonly SecretForm[]): (text: string) => Range[] {
  const buckets = new Map<string, SecretForm[]>();
  const filter = new Uint8Array(1 << FILTER_BITS);
  const seen = new Set<string>();
  for (const form of forms) {
    const name = `${form.partial}${form.text}`;
    if (seen.has(name)) continue;
    seen.add(name);
    const head = form.text.slice(0, MIN_SECRET_LENGTH);
    const bucket = buckets.get(head);
    if (bucket === undefined) buckets.set(head, [form]);
    else bucket.push(form);
    filter[hashAt(form.text, 0)] = 1;
  }
  return (text) => {
    const found: Range[] = [];
    for (let at = 0; at <= text.length - MIN_SECRET_LENGTH; at += 1) {
      if (filter[hashAt(text, at)] === 0) continue;
      const bucket = buckets.get(text.slice(at, at + MIN_SECRET_LENGTH));
      if (bucket === undefined) continue;
      for (const form of bucket) {
        const length = secretLength(text, at, form);
        if (length > 0) found.push(form.base64 ? wholeRun(text, at, at + length) : [at, at + length]);
      }
    }
    return found;
  };
}

/** As far as a login in base64 may reach beyond the secret in it. */
const MAX_RUN = 200;

/** The digits of base64 around these, with the padding behind them. */
function wholeRun(text: string, start: number, end: number): Range {
  let from = start;
  while (from > 0 && start - from < MAX_RUN && /[\w+/-]/.test(text.charAt(from - 1))) from -= 1;
  const after = /^[\w+/-]*={0,2}/.exec(text.slice(end, end + MAX_RUN))?.[0] ?? '';
  return [from, end + after.length];
}

/** How many characters from here on are of this secret; 0 when it is another text. */
function secretLength(text: string, at: number, { text: secret, partial }: SecretForm): number {
  let same = MIN_SECRET_LENGTH;
  while (same < secret.length && secret.charCodeAt(same) === text.charCodeAt(at + same)) same += 1;
  if (same === secret.length) return same;
  if (!partial || same < MIN_CUT_PREFIX) return 0;
  const end = at + same;
  // A secret may go on with a dot, as the mark begins.
  const marked = CUT.some((mark) =>
    [0, 1, 2].some((back) => same - back >= MIN_CUT_PREFIX && text.startsWith(mark, end - back)),
  );
  return marked || end === text.length || same >= MIN_PREFIX ? same : 0;
}
