import { domainToASCII } from 'node:url';

/** Who may receive: `recipients` of an org.yaml. */
export interface AllowList {
  readonly addresses: readonly string[];
  readonly domains: readonly string[];
}

/** RFC 5321 §4.1.2, the dot-string alone: no quotes, comments, routes or source addresses, and ASCII only. */
const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
/** Old source routes inside a local part (`user%host@relay`, `host!user@relay`): some relays still forward such mail. */
const ROUTE = /[%!]/;
const UNICODE_DOMAIN = /^[\p{L}\p{M}\p{N}.-]+$/u;
const LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const MAX_LOCAL = 64;
const MAX_DOMAIN = 253;
const MAX_LABEL = 63;

/** A domain as it goes onto the wire: lower case, IDN as ASCII. Undefined when it is not one (addresses of hosts too). */
export function canonicalDomain(domain: string): string | undefined {
  // `domainToASCII` is a URL parser's: it would also take a port, a path or a percent escape for part of a host.
  if (!UNICODE_DOMAIN.test(domain)) return undefined;
  const ascii = domainToASCII(domain);
  const labels = ascii.split('.');
  const last = labels.at(-1);
  if (ascii.length > MAX_DOMAIN || labels.length < 2 || last === undefined || /^\d+$/.test(last)) return undefined;
  return labels.every((label) => label.length <= MAX_LABEL && LABEL.test(label)) ? ascii : undefined;
}

/**
 * An address as it goes onto the wire: an ASCII local part, kept as written, and a canonical domain. Undefined for
 * everything else, so that what passes here can hold no line break, no second address and no display name.
 */
export function canonicalAddress(address: string): string | undefined {
  const at = address.lastIndexOf('@');
  const local = address.slice(0, Math.max(at, 0));
  if (local.length === 0 || local.length > MAX_LOCAL || !LOCAL_PART.test(local)) return undefined;
  const domain = canonicalDomain(address.slice(at + 1));
  return domain === undefined ? undefined : `${local}@${domain}`;
}

/** Two spellings of one mailbox have one key: no server in use tells upper from lower case. */
export const addressKey = (address: string): string | undefined => canonicalAddress(address)?.toLowerCase();

/**
 * Why this address may not get the organization's reports, as the end of a sentence; undefined when it may.
 * A domain of the list allows exactly that domain: `acme.example` allows neither `sub.acme.example` nor
 * `notacme.example`, nor an address of it that names a route. An entry of the list that is not a domain or an address allows nothing.
 */
export function recipientFault(address: string, allowed: AllowList): string | undefined {
  const key = addressKey(address);
  if (key === undefined) {
    return 'is not a plain e-mail address (name@domain.example: no spaces, quotes, comments or display name)';
  }
  if (allowed.addresses.some((entry) => addressKey(entry) === key)) return undefined;
  const at = key.lastIndexOf('@');
  if (ROUTE.test(key.slice(0, at))) {
    return 'has a "%" or "!" before the "@", by which a mail server may pass it on to another domain (allow it by its full address in org.yaml: recipients.addresses)';
  }
  const domain = key.slice(at + 1);
  if (allowed.domains.some((entry) => canonicalDomain(entry) === domain)) return undefined;
  return "is not among the organization's recipients (org.yaml: recipients.addresses, recipients.domains)";
}
