import { hideCredentialShapes } from './credential-shapes.ts';
import { decodedViews } from './decoded-views.ts';
import { MIN_SECRET_LENGTH, type SecretForm, secretForms } from './secret-forms.ts';
import { type Range, type SecretIndex, secretIndex } from './secret-index.ts';

export { passwordsIn } from './secret-forms.ts';

/** Takes what this process knows to be secret out of a text. */
export type Redact = (text: string) => string;

/** Knows the secrets that this process has in hand, and takes them out of any text. */
export interface Redactor {
  /**
   * Takes this value out from now on, also when another has taken its place. One of fewer than six characters is not told
   * from a word, and stays.
   *
   * @param kind `token`: one of very many that expire; only the newest are remembered
   */
  readonly learn: (secret: string, kind?: 'token') => void;
  /**
   * In every encoding that `secretForms` and `decodedViews` know, cut off or folded. To be called where a text of
   * somebody else enters, before it is cut or its line breaks are lost.
   */
  readonly redact: Redact;
}

const MAX_TOKENS = 200;

interface RedactorOptions {
  /** False: takes out only what it was told, e.g. of data, which may well look like a credential. */
  readonly shapes?: boolean;
  /** False: takes out only whole secrets, e.g. of data, where a word may well be the beginning of one. */
  readonly partial?: boolean;
}

/** One for a process, made where it is composed: whoever reads secrets tells it, and whoever reads a foreign text asks it. */
export function createRedactor({ shapes = true, partial = true }: RedactorOptions = {}): Redactor {
  const known = new Map<string, readonly SecretForm[]>();
  const tokens = new Set<string>();
  const index = secretIndex();
  return {
    learn: (secret, kind) => {
      if (secret.length < MIN_SECRET_LENGTH || known.has(secret)) return;
      const forms = secretForms(secret).map((form) => (partial ? form : { ...form, partial }));
      known.set(secret, forms);
      index.add(forms);
      if (kind !== 'token') return;
      tokens.add(secret);
      const [oldest] = tokens;
      if (tokens.size <= MAX_TOKENS || oldest === undefined) return;
      tokens.delete(oldest);
      index.remove(known.get(oldest) ?? []);
      known.delete(oldest);
    },
    redact: (text) => {
      const told = hideRanges(text, rangesIn(text, index.find));
      return shapes ? hideCredentialShapes(told) : told;
    },
  };
}

/** Nobody reads on: what is shown of a foreign text is far shorter. */
const MAX_FOREIGN_TEXT = 8 * 1024;
/** Read beyond it, so that a secret at the cut is whole or its piece is: longer than any piece of one, escaped twice. */
const BEYOND = 2 * 1024;

/**
 * What a peer said, without our secrets: the one way in which its text becomes a part of an error, a record, a row, a file or
 * a mail. Bounded, and to be cut further only afterwards.
 */
export function foreignText(text: string, redact: Redact): string {
  if (text.length <= MAX_FOREIGN_TEXT + BEYOND) return redact(text);
  return redact(text.slice(0, MAX_FOREIGN_TEXT + BEYOND)).slice(0, -BEYOND);
}

/** The redactor of a process, or one that knows only what it is told from now on where there is none. */
export const redactorOf = ({ learn, redact }: Partial<Redactor>): Redactor =>
  learn === undefined || redact === undefined ? createRedactor() : { learn, redact };

function rangesIn(text: string, find: SecretIndex['find']): Range[] {
  const decoded = decodedViews(text).flatMap((view) =>
    find(view.text).map(([start, end]): Range => [view.starts[start] ?? 0, view.ends[end - 1] ?? text.length]),
  );
  return [...find(text), ...decoded].sort(([one], [other]) => one - other);
}

function hideRanges(text: string, ranges: readonly Range[]): string {
  let said = '';
  let read = 0;
  for (const [start, end] of ranges) {
    if (end <= read) continue;
    if (start > read || read === 0) said += `${text.slice(read, start)}[secret]`;
    read = end;
  }
  return said + text.slice(read);
}
