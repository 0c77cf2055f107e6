/** A text to redact. */
export interface SecretForm {
  readonly text: string;
  /** Whether its first characters alone reveal part of the secret. The scheme and host of a URL do not. */
  readonly partial: boolean;
  /** Base64, possibly inside an encoded login: adjacent base64 digits are redacted as well. */
  readonly base64: boolean;
}

type Part = Pick<SecretForm, 'text' | 'partial'>;

/** Redacting shorter secrets would damage ordinary words, and so reveal the secret. */
export const MIN_SECRET_LENGTH = 6;
/** Long forms are split, so that comparing takes bounded time and parts are found too. */
const PIECE_LENGTH = 48;
/** Minimum length of the half of an API key (`prefix.secret`) that is secret by itself. */
const MIN_KEY_SECRET_LENGTH = 16;

/**
 * The forms of a secret to search for: the secret and its secret parts, each as text, escaped for JSON, a URL and HTML, in
 * hexadecimal, and in base64 at any offset of a longer text, as in `AUTH PLAIN`, `AUTH LOGIN`, `Basic` and XOAUTH2. Not
 * found: escapes of escapes, escapes of letters and digits, other encodings, and a secret that is folded over lines.
 */
export function secretForms(secret: string): SecretForm[] {
  return collectParts(secret)
    .filter(({ text }) => text.length >= MIN_SECRET_LENGTH)
    .flatMap(({ text, partial }) => encodings(text).map((form) => ({ ...form, partial })))
    .flatMap((form) => pieces(form.text).map((text) => ({ ...form, text })))
    .filter(({ text }) => text.length >= MIN_SECRET_LENGTH);
}

function collectParts(secret: string): Part[] {
  const lines = secret.split(/\s*[\r\n]\s*/);
  const url = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(.*)$/is.exec(secret);
  const half = /^[^.\s]+\.([\w-]+)$/.exec(secret)?.[1] ?? '';
  const partial = [
    ...extractPasswords(secret),
    ...(url === null && lines.length === 1 ? [secret] : [url?.[1] ?? '']),
    // The body of a PEM key, whatever its line length.
    ...(lines.length === 1 ? [] : [lines.filter((line) => !line.startsWith('-----')).join('')]),
    ...(half.length >= MIN_KEY_SECRET_LENGTH ? [half] : []),
    ...(secret.startsWith('whsec_') ? [secret.slice('whsec_'.length)] : []),
  ];
  return [
    ...[secret, ...lines].map((text) => ({ text, partial: false })),
    ...partial.flatMap(spellings).map((text) => ({ text, partial: true })),
  ];
}

/** The text itself, and its UTF-8 read as Latin-1, as can happen in a header. */
const spellings = (text: string): string[] => [...new Set([text, Buffer.from(text, 'utf8').toString('latin1')])];

const escapeEach = (text: string, characters: RegExp, write: (code: number) => string): string =>
  text.replaceAll(characters, (found) => write(found.charCodeAt(0)));
const hexDigits = (code: number, length: number): string => code.toString(16).padStart(length, '0');

/** The text itself, and escaped for JSON, URLs and HTML as common libraries do. */
function escapes(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1);
  const url = encodeURIComponent(Buffer.from(text, 'utf8').toString('utf8'));
  const strict = escapeEach(url, /[!'()*]/g, (code) => `%${hexDigits(code, 2).toUpperCase()}`);
  const urls = [url, strict, strict.replaceAll('%2F', '/'), url.replaceAll('%20', '+'), strict.replaceAll('%20', '+')];
  const html = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return [
    text,
    ...[json, escapeEach(json, /[^ -~]/g, (code) => `\\u${hexDigits(code, 4)}`)].flatMap((one) => [
      one,
      one.replaceAll('/', '\\/'),
    ]),
    ...urls.flatMap((one) => [one, one.replaceAll(/%../g, (found) => found.toLowerCase())]),
    ...['&#39;', '&#x27;', '&apos;'].flatMap((quote) =>
      ['&quot;', '&#34;', '"'].map((double) => html.replaceAll("'", quote).replaceAll('"', double)),
    ),
    html,
  ];
}

function encodings(text: string): Omit<SecretForm, 'partial'>[] {
  const bytes = Buffer.from(text, 'utf8');
  const hex = bytes.toString('hex');
  const base64 = [0, 1, 2].map((before) => {
    const all = Buffer.concat([Buffer.alloc(before), bytes]);
    // Keeps only the digits that depend on the secret alone. Those at both ends also depend on adjacent text.
    return all.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((all.length * 8) / 6));
  });
  const urlSafe = base64.map((digits) => digits.replaceAll('+', '-').replaceAll('/', '_'));
  return [
    ...[...new Set([...escapes(text), hex, hex.toUpperCase()])].map((form) => ({ text: form, base64: false })),
    ...[...new Set([...base64, ...urlSafe])].map((form) => ({ text: form, base64: true })),
  ];
}

function pieces(text: string): string[] {
  const count = Math.max(1, Math.floor(text.length / PIECE_LENGTH));
  return Array.from({ length: count }, (_, index) =>
    text.slice(index * PIECE_LENGTH, index === count - 1 ? undefined : (index + 1) * PIECE_LENGTH),
  );
}

/** The passwords in a URL, raw and decoded: in the authority, and for Redis Sentinel. */
export function extractPasswords(url: string): string[] {
  const login = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@:]*:([^\s/?#]*)@/i.exec(url)?.[1];
  const option = /[?&]sentinel_password=([^\s&#]*)/.exec(url)?.[1];
  return [login, option].flatMap((text) => (text ? [text, ...decodeAll(text)] : []));
}

function decodeAll(text: string): string[] {
  try {
    return [decodeURIComponent(text)];
  } catch {
    return [];
  }
}
