/** Nobody reads more of one value; a whole answer of a server must not become a log line. */
const MOST = 1_000;

/** What a terminal obeys instead of showing it, what ends a line, and what turns its direction around. */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

const ADDRESS = /\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s?#"<>]*@)?([^\s?#"<>]*)(\?[^\s#"<>]*)?(#[^\s"<>]*)?/gi;

/**
 * A text as it may stand in a log line, whoever wrote it: without known secrets, URLs without user, password, query and
 * fragment, control characters as escapes (nobody forges a line or moves a cursor), and cut at a thousand characters.
 */
export function logText(text: string, redact: (text: string) => string = (same) => same): string {
  // Secrets first: a cut or an escape in the middle of one would keep it from being found.
  const told = redact(text);
  const short = told.length > MOST ? `${told.slice(0, MOST).replace(/\p{Surrogate}$/u, '')}…` : told;
  const named = short.includes('://') ? short.replace(ADDRESS, bare) : short;
  return named.replace(UNSEEN, shown);
}

const bare = (_all: string, scheme: string, place: string, query?: string): string =>
  `${scheme}${place}${query === undefined ? '' : '?…'}`;

function shown(character: string): string {
  const quoted = JSON.stringify(character).slice(1, -1);
  return quoted === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : quoted;
}
