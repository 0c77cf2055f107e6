import { z } from 'zod';
import { epochMsSchema, isoInstant } from '../../base/time.ts';
import { addressKey, canonicalDomain } from '../../definitions/allow-lists/recipients.ts';

/** Most entries of the list. Each change writes the whole list. */
export const MAX_DENIED = 10_000;

const entrySchema = z.object({
  /** An address in the form of `addressKey`, or a domain in that of `canonicalDomain`. */
  name: z.string(),
  by: z.string(),
  reason: z.string(),
  since: epochMsSchema,
});
/** A denied address or domain: this deployment sends it no mail. */
export type Denial = Readonly<z.infer<typeof entrySchema>>;

export const denyStateSchema = z.object({
  /** Increases with each change. */
  version: z.int().nonnegative(),
  entries: z.array(entrySchema).readonly(),
  /** The change that made this version, for people who read the archive. */
  change: z
    .object({
      what: z.enum(['denied', 'allowed']),
      count: z.int(),
      by: z.string(),
      reason: z.string(),
      at: epochMsSchema,
    })
    .nullable(),
});
/** One version of the deny list, as stored in the archive. */
export type DenyState = Readonly<z.infer<typeof denyStateSchema>>;

export const NOBODY_DENIED: DenyState = { version: 0, entries: [], change: null };

interface Author {
  readonly by: string;
  readonly reason: string;
}

/** The normal form of an address or domain in the list; undefined for anything else. */
export const denialName = (text: string): string | undefined =>
  text.includes('@') ? addressKey(text) : canonicalDomain(text);

/** Adds entries. An entry that is already in the list keeps its author and reason. */
export function withDenials(state: DenyState, added: readonly Denial[], { by, reason }: Author, at: number): DenyState {
  const known = new Set(state.entries.map(({ name }) => name));
  const fresh = added.filter(({ name }) => !known.has(name) && known.add(name));
  if (fresh.length === 0) return state;
  return {
    version: state.version + 1,
    entries: [...state.entries, ...fresh],
    change: { what: 'denied', count: fresh.length, by, reason, at },
  };
}

/** Removes entries. Returns the same state if none of them is in the list. @param at epoch ms */
export function withoutDenials(
  state: DenyState,
  names: readonly string[],
  { by, reason }: Author,
  at: number,
): DenyState {
  const removed = new Set(names);
  const entries = state.entries.filter(({ name }) => !removed.has(name));
  const count = state.entries.length - entries.length;
  if (count === 0) return state;
  return { version: state.version + 1, entries, change: { what: 'allowed', count, by, reason, at } };
}

/** One version of the list, indexed for look-ups. */
export interface DenyList {
  readonly size: number;
  /**
   * The entry that denies a recipient. A domain covers exactly that domain, as in the allow-list. Also undefined for a
   * recipient that is not an address, e.g. a bucket.
   */
  find(recipient: string): Denial | undefined;
}

export function buildDenyList({ entries }: DenyState): DenyList {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  return {
    size: entries.length,
    find: (recipient) => {
      if (byName.size === 0) return undefined;
      const key = addressKey(recipient);
      return key === undefined ? undefined : (byName.get(key) ?? byName.get(key.slice(key.lastIndexOf('@') + 1)));
    },
  };
}

/** `YYYY-MM-DD`. */
const DAY = 10;
const ON_THE_LIST = 'On the deny list';

/**
 * The detail of a skipped delivery. It leaves out the name: the recipient is shown beside it, and logs contain no
 * addresses.
 */
export const denialText = ({ by, reason, since }: Omit<Denial, 'name'>): string =>
  `${ON_THE_LIST} since ${isoInstant(since).slice(0, DAY)} by ${by}: ${reason}`;

/** Whether the deny list caused a delivery's skip, judging by its detail. */
export const isDenied = ({ state, detail }: { readonly state: string; readonly detail: string | null }): boolean =>
  state === 'skipped' && detail?.startsWith(ON_THE_LIST) === true;
