/** Per value: a server's response must not become a log line. */
const MAX_CHARACTERS = 1_000;

/** Terminal controls, line ends and direction controls. */
const CONTROL_CHARACTERS = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

const URL_PATTERN = /\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s?#"<>]*@)?([^\s?#"<>]*)(\?[^\s#"<>]*)?(#[^\s"<>]*)?/gi;

/**
 * Makes any text safe for a log line: without known secrets; URLs without user, password, query and fragment; control
 * characters escaped, which prevents forged lines; truncated to a thousand characters.
 */
export function sanitizeLogText(text: string, redact: (text: string) => string = (same) => same): string {
  // Secrets first: one that is truncated or escaped would not be found.
  const redacted = redact(text);
  const short =
    redacted.length > MAX_CHARACTERS
      ? `${redacted.slice(0, MAX_CHARACTERS).replace(/\p{Surrogate}$/u, '')}…`
      : redacted;
  const stripped = short.includes('://') ? short.replace(URL_PATTERN, stripUrl) : short;
  return stripped.replace(CONTROL_CHARACTERS, escapeCharacter);
}

const stripUrl = (_all: string, scheme: string, hostAndPath: string, query?: string): string =>
  `${scheme}${hostAndPath}${query === undefined ? '' : '?…'}`;

function escapeCharacter(character: string): string {
  const quoted = JSON.stringify(character).slice(1, -1);
  return quoted === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : quoted;
}
