/** Knows the secrets that this process has in hand, and takes them out of any text. */
export interface Redactor {
  /** Takes this value out from now on. One of fewer than six characters is not told from a word, and stays. */
  readonly learn: (secret: string) => void;
  readonly redact: (text: string) => string;
}

/** Shorter ones would take words apart, and tell by that what they are. */
const LEAST = 6;

/** One for a process, made where it is composed: whoever reads secrets tells it, the log asks it. */
export function createRedactor(): Redactor {
  const known = new Set<string>();
  let pattern: RegExp | undefined;
  return {
    learn: (secret) => {
      if (secret.length < LEAST || known.has(secret)) return;
      for (const form of [secret, ...passwordsIn(secret)].flatMap(formsOf)) known.add(form);
      // The longest first: one may begin like another.
      const all = [...known].sort((one, other) => other.length - one.length);
      pattern = new RegExp(all.map(escaped).join('|'), 'g');
    },
    redact: (text) => (pattern === undefined ? text : text.replace(pattern, '[secret]')),
  };
}

/** As it stands in a URL, in JSON, and line by line where it is a key in PEM. */
const formsOf = (secret: string): string[] =>
  [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), ...secret.split(/\s*\n\s*/)].filter(
    ({ length }) => length >= LEAST,
  );

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

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
