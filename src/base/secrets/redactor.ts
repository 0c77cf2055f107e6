import { MIN_SECRET_LENGTH, type SecretForm, secretForms } from './secret-forms.ts';
import { type Range, secretIndex } from './secret-index.ts';

export { extractPasswords as passwordsIn } from './secret-forms.ts';

/** Replaces known secrets in a text with `[secret]`. */
export type Redact = (text: string) => string;

/** Knows the secrets that this process has read, and removes them from texts. */
export interface Redactor {
  /**
   * Redacts this value from now on, even after its rotation. Ignores values of fewer than six characters, which cannot
   * be distinguished from words.
   *
   * @param kind `token`: short-lived and numerous, so only the newest are kept
   */
  readonly registerSecret: (secret: string, kind?: 'token') => void;
  /**
   * Redacts secrets in every encoding of `secretForms`, even truncated ones. Call it on untrusted text before that is
   * truncated or escaped.
   */
  readonly redact: Redact;
}

const MAX_TOKENS = 200;

interface RedactorOptions {
  /** False: redacts only registered secrets. For data, which may look like a credential. */
  readonly shapes?: boolean;
  /** False: redacts only whole secrets. For data, in which a word may be the beginning of a secret. */
  readonly partial?: boolean;
}

/** Creates the redactor of a process: readers of secrets register them, and readers of untrusted text redact it. */
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
      const redacted = hideRanges(text, index.find(text));
      return shapes ? redactCredentialShapes(redacted) : redacted;
    },
  };
}

/** Far more than is ever shown of an untrusted text. */
const MAX_UNTRUSTED_CHARACTERS = 8 * 1024;
/** How much more to read, so that secrets at the end are found. Longer than any form of a secret. */
const OVERLAP_CHARACTERS = 2 * 1024;

/**
 * Redacts and truncates text from outside. All such text must pass here before it becomes part of an error, a record, a
 * ledger row, a file or an e-mail. Truncate it further only afterwards.
 */
export function redactUntrusted(text: string, redact: Redact): string {
  if (text.length <= MAX_UNTRUSTED_CHARACTERS + OVERLAP_CHARACTERS) return redact(text);
  return redact(text.slice(0, MAX_UNTRUSTED_CHARACTERS + OVERLAP_CHARACTERS)).slice(0, -OVERLAP_CHARACTERS);
}

/** The process's redactor, or a new one. */
export const ensureRedactor = ({ registerSecret, redact }: Partial<Redactor>): Redactor =>
  registerSecret === undefined || redact === undefined ? createRedactor() : { registerSecret, redact };

function hideRanges(text: string, ranges: readonly Range[]): string {
  let shown = '';
  let read = 0;
  for (const [start, end] of ranges) {
    shown += `${text.slice(read, start)}[secret]`;
    read = end;
  }
  return shown + text.slice(read);
}

/**
 * Credentials recognised by their form, e.g. those made for one request, which are not registered. Each pattern takes
 * linear time for any text.
 */
const CREDENTIAL_SHAPES: readonly (readonly [shape: RegExp, replacement: string])[] = [
  [
    /\b(X-Amz-(?:Signature|Security-Token|Credential)|Signature|access_token|refresh_token|id_token)(=|%3D|["']?: ?["']?)[\w%.~+/=-]{16,}/gi,
    '$1$2[secret]',
  ],
  // Requires a digit, so that "Basic authentication…" does not match.
  [/\b(Bearer|Basic|Api-Key|Negotiate)([ \t]{1,4})(?=\S*\d)[\w+/.~=-]{16,}/gi, '$1$2[secret]'],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, '[secret]'],
  [/\b((?:Set-)?Cookie:)[^\r\n]+/gi, '$1 [secret]'],
  [/-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]*?(?:-----END[^-]*-----|$)/g, '[secret]'],
  [/\bdocket_[\w-]{43}/g, '[secret]'],
  [/\bwhsec_[A-Za-z0-9+/]{20,}={0,2}/g, '[secret]'],
];

const redactCredentialShapes = (text: string): string =>
  CREDENTIAL_SHAPES.reduce((redacted, [shape, replacement]) => redacted.replace(shape, replacement), text);
