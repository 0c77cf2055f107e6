import { domainToASCII, domainToUnicode } from 'node:url';
import { asciiLowerCase, foldText } from '../../base/text/fold.ts';

/** `recipients` in an org.yaml. */
export interface RecipientAllowList {
  readonly addresses: readonly string[];
  readonly domains: readonly string[];
}

/** RFC 5321 §4.1.2, dot-strings only: no quotes, comments or routes, and only ASCII. */
const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
/**
 * Source routes in a local part (`user%host@relay`, `host!user@relay`), because some relays still forward such mail.
 */
const SOURCE_ROUTE = /[%!]/;
const UNICODE_DOMAIN = /^[\p{L}\p{M}\p{N}.-]+$/u;
const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const MAX_LOCAL_LENGTH = 64;
const MAX_DOMAIN_LENGTH = 253;
const MAX_LABEL_LENGTH = 63;

/**
 * A domain in canonical form: lower case, IDN as ASCII. Undefined for anything else, including IP addresses, and for
 * letters that only look like those of another domain (`domainToASCII` turns the Kelvin sign into `k`).
 */
export function canonicalDomain(domain: string): string | undefined {
  // `domainToASCII` parses URLs, so it would accept a port, a path or a percent escape.
  if (!UNICODE_DOMAIN.test(domain)) return undefined;
  const ascii = domainToASCII(domain);
  const labels = ascii.split('.');
  const last = labels.at(-1);
  if (ascii.length > MAX_DOMAIN_LENGTH || labels.length < 2 || last === undefined || /^\d+$/.test(last))
    return undefined;
  if (!labels.every((label) => label.length <= MAX_LABEL_LENGTH && LABEL.test(label))) return undefined;
  return domain.split('.').every((label, index) => isSpellingOf(label, labels[index] ?? '')) ? ascii : undefined;
}

/** Whether a label differs from its canonical form only in case and in the encoding of accents. */
const isSpellingOf = (label: string, ascii: string): boolean =>
  /^\p{ASCII}*$/u.test(label) || lowerNonAscii(foldText(label)) === domainToUnicode(ascii);

/** Lower case of letters outside ASCII, except of those that would become ASCII. */
const lowerNonAscii = (text: string): string =>
  text.replace(/\P{ASCII}/gu, (letter) => {
    const lower = letter.toLowerCase();
    return /\p{ASCII}/u.test(lower) ? letter : lower;
  });

/**
 * An address in canonical form: the ASCII local part as written, and a canonical domain. Undefined for anything else,
 * so that the result contains no line break, second address or display name.
 */
export function canonicalAddress(address: string): string | undefined {
  const at = address.lastIndexOf('@');
  const local = address.slice(0, Math.max(at, 0));
  if (local.length === 0 || local.length > MAX_LOCAL_LENGTH || !LOCAL_PART.test(local)) return undefined;
  const domain = canonicalDomain(address.slice(at + 1));
  return domain === undefined ? undefined : `${local}@${domain}`;
}

/** The same text for all spellings of a mailbox, because the mail servers in use ignore case. */
export function addressKey(address: string): string | undefined {
  const canonical = canonicalAddress(address);
  return canonical === undefined ? undefined : asciiLowerCase(canonical);
}

/**
 * The same text for all spellings of an account. A text with "@" is compared as an address, although it may have
 * letters that no recipient may have. Any other text is compared unchanged.
 */
export function accountKey(account: string): string {
  const at = account.lastIndexOf('@');
  if (at < 0) return account;
  const domain = account.slice(at + 1);
  return `${foldText(account.slice(0, at))}@${canonicalDomain(domain) ?? foldText(domain)}`;
}

/** Converts a search text that somebody typed for recipients, because their domains are stored as ASCII. */
export const recipientSearchText = (text: string): string =>
  text.includes('@') ? accountKey(text) : /^\p{ASCII}*$/u.test(text) ? text : (canonicalDomain(text) ?? text);

/**
 * Why this address may not get the organization's reports, as the end of a sentence; undefined if it may. A domain in
 * the list allows exactly that domain: `acme.example` allows neither `sub.acme.example` nor `notacme.example`, nor an
 * address with a source route. Entries that are neither a domain nor an address allow nothing.
 */
export function recipientRefusal(address: string, allowed: RecipientAllowList): string | undefined {
  const key = addressKey(address);
  if (key === undefined) {
    return 'is not a plain e-mail address (name@domain.example: no spaces, quotes, comments or display name)';
  }
  if (allowed.addresses.some((entry) => addressKey(entry) === key)) return undefined;
  const at = key.lastIndexOf('@');
  if (SOURCE_ROUTE.test(key.slice(0, at))) {
    return 'has a "%" or "!" before the "@", by which a mail server may pass it on to another domain (allow it by its full address in org.yaml: recipients.addresses)';
  }
  const domain = key.slice(at + 1);
  if (allowed.domains.some((entry) => canonicalDomain(entry) === domain)) return undefined;
  return "is not among the organization's recipients (org.yaml: recipients.addresses, recipients.domains)";
}
