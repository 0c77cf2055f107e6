import { decodedViews } from './decoded-views.ts';
import { MIN_SECRET_LENGTH, type SecretForm, secretForms } from './secret-forms.ts';
import { type Range, type SecretIndex, secretIndex } from './secret-index.ts';

export { extractPasswords as passwordsIn } from './secret-forms.ts';

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
  readonly registerSecret: (secret: string, kind?: 'token') => void;
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
    registerSecret: (secret, kind) => {
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
      const told = hideRanges(text, findSecrets(text, index.find));
      return shapes ? redactCredentialShapes(told) : told;
    },
  };
}

/** Nobody reads on: what is shown of a foreign text is far shorter. */
const MAX_UNTRUSTED_CHARACTERS = 8 * 1024;
/** Read beyond it, so that a secret at the cut is whole or its piece is: longer than any piece of one, escaped twice. */
const OVERLAP_CHARACTERS = 2 * 1024;

/**
 * What a peer said, without our secrets: the one way in which its text becomes a part of an error, a record, a row, a file or
 * a mail. Bounded, and to be cut further only afterwards.
 */
export function redactUntrusted(text: string, redact: Redact): string {
  if (text.length <= MAX_UNTRUSTED_CHARACTERS + OVERLAP_CHARACTERS) return redact(text);
  return redact(text.slice(0, MAX_UNTRUSTED_CHARACTERS + OVERLAP_CHARACTERS)).slice(0, -OVERLAP_CHARACTERS);
}

/** The redactor of a process, or one that knows only what it is told from now on where there is none. */
export const ensureRedactor = ({ registerSecret, redact }: Partial<Redactor>): Redactor =>
  registerSecret === undefined || redact === undefined ? createRedactor() : { registerSecret, redact };

function findSecrets(text: string, find: SecretIndex['find']): Range[] {
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

/**
 * Credentials that are known by their form alone: those that are made for one request, and are worth nothing to remember.
 * Each pattern takes linear time, whatever the text is.
 */
const CREDENTIAL_SHAPES: readonly (readonly [shape: RegExp, instead: string])[] = [
  [
    /\b(X-Amz-(?:Signature|Security-Token|Credential)|Signature|access_token|refresh_token|id_token)(=|%3D|["']?: ?["']?)[\w%.~+/=-]{16,}/gi,
    '$1$2[secret]',
  ],
  // A digit, or "Basic authentication…" would be one.
  [/\b(Bearer|Basic|Api-Key|Negotiate)([ \t]{1,4})(?=\S*\d)[\w+/.~=-]{16,}/gi, '$1$2[secret]'],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, '[secret]'],
  [/\b((?:Set-)?Cookie:)[^\r\n]+/gi, '$1 [secret]'],
  [/-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]*?(?:-----END[^-]*-----|$)/g, '[secret]'],
  [/\bdocket_[\w-]{43}/g, '[secret]'],
  [/\bwhsec_[A-Za-z0-9+/]{20,}={0,2}/g, '[secret]'],
];

export const redactCredentialShapes = (text: string): string =>
  CREDENTIAL_SHAPES.reduce((rest, [shape, instead]) => rest.replace(shape, instead), text);
