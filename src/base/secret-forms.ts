/** A text that must not be repeated. */
export interface SecretForm {
  readonly text: string;
  /** Its first characters alone tell something of the secret; not so the scheme and the host of a URL. */
  readonly partial: boolean;
  /** In base64, and so perhaps amid a login: what stands beside it without a gap goes with it. */
  readonly base64: boolean;
}

type Part = Pick<SecretForm, 'text' | 'partial'>;

/** Shorter ones would take words apart, and tell by that what they are. */
export const MIN_SECRET_LENGTH = 6;
/** Long forms are looked for piece by piece, so that comparing takes bounded time and a part of one is found as well. */
const PIECE_LENGTH = 48;
/** The half of an API key (`prefix.secret`) that is secret by itself. */
const MIN_KEY_HALF = 16;

/**
 * What is looked for of a secret: itself and its parts that are secrets too, each as text, in hexadecimal digits and in
 * base64 as it comes out at any place of a longer text, which is how `AUTH PLAIN`, `AUTH LOGIN`, `Basic` and XOAUTH2 carry it.
 * Not base64 of UTF-16: nothing that Docket speaks carries it.
 */
export function secretForms(secret: string): SecretForm[] {
  return partsOf(secret)
    .filter(({ text }) => text.length >= MIN_SECRET_LENGTH)
    .flatMap(({ text, partial }) => encoded(text).map((form) => ({ ...form, partial })))
    .flatMap((form) => pieces(form.text).map((text) => ({ ...form, text })))
    .filter(({ text }) => text.length >= MIN_SECRET_LENGTH);
}

function partsOf(secret: string): Part[] {
  const lines = secret.split(/\s*[\r\n]\s*/);
  const url = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*(.*)$/is.exec(secret);
  const half = /^[^.\s]+\.([\w-]+)$/.exec(secret)?.[1] ?? '';
  const partial = [
    ...passwordsIn(secret),
    ...(url === null && lines.length === 1 ? [secret] : [url?.[1] ?? '']),
    // The body of a key in PEM form, whatever its lines are.
    ...(lines.length === 1 ? [] : [lines.filter((line) => !line.startsWith('-----')).join('')]),
    ...(half.length >= MIN_KEY_HALF ? [half] : []),
    ...(secret.startsWith('whsec_') ? [secret.slice('whsec_'.length)] : []),
  ];
  return [
    ...[secret, ...lines].map((text) => ({ text, partial: false })),
    ...partial.flatMap(spelled).map((text) => ({ text, partial: true })),
  ];
}

/** As it is, as a form posts it, and as it looks where its UTF-8 is read as Latin-1, e.g. in a header. */
const spelled = (text: string): string[] => [
  ...new Set([text, text.replaceAll(' ', '+'), Buffer.from(text, 'utf8').toString('latin1')]),
];

function encoded(text: string): Omit<SecretForm, 'partial'>[] {
  const bytes = Buffer.from(text, 'utf8');
  const hex = bytes.toString('hex');
  const base64 = [0, 1, 2].map((before) => {
    const all = Buffer.concat([Buffer.alloc(before), bytes]);
    // Only digits that are wholly of the secret: the ones at both ends depend on what stands beside it.
    return all.toString('base64').slice(Math.ceil((before * 8) / 6), Math.floor((all.length * 8) / 6));
  });
  const urlSafe = base64.map((digits) => digits.replaceAll('+', '-').replaceAll('/', '_'));
  return [
    ...[text, hex, hex.toUpperCase()].map((form) => ({ text: form, base64: false })),
    ...[...new Set([...base64, ...urlSafe])].map((form) => ({ text: form, base64: true })),
  ];
}

function pieces(text: string): string[] {
  const count = Math.max(1, Math.floor(text.length / PIECE_LENGTH));
  return Array.from({ length: count }, (_, index) =>
    text.slice(index * PIECE_LENGTH, index === count - 1 ? undefined : (index + 1) * PIECE_LENGTH),
  );
}

/** The passwords that a URL carries, as they stand in it and decoded: in front of its host, or a Redis Sentinel's. */
export function passwordsIn(url: string): string[] {
  const login = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@:]*:([^\s/?#]*)@/i.exec(url)?.[1];
  const option = /[?&]sentinel_password=([^\s&#]*)/.exec(url)?.[1];
  return [login, option].flatMap((text) => (text ? [text, ...decoded(text)] : []));
}

function decoded(text: string): string[] {
  try {
    return [decodeURIComponent(text)];
  } catch {
    return [];
  }
}
