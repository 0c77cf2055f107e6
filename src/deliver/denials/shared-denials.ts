import type { Clock } from '../../base/clock.ts';
import type { RedisClient } from '../../redis/client.ts';
import { redisKeys } from '../../redis/keys.ts';
import type { ArchiveStorage } from '../archive/storage/archive-storage.ts';
import { type ArchivedDocument, archivedDocument } from '../documents/archived-document.ts';
import { sharedDocument } from '../documents/shared-document.ts';
import type { SwitchAuthor } from '../switches/shared-switches.ts';
import {
  buildDenyList,
  type Denial,
  type DenyList,
  type DenyState,
  denyStateSchema,
  MAX_DENIED,
  NOBODY_DENIED,
  withDenials,
  withoutDenials,
} from './deny-list.ts';
import { type DenialRequest, tooManyDenials } from './parse-denials.ts';

export const DENIED_FOLDER = '.denied';

/** The deny list in the archive. While it is unreadable, nothing may be sent. */
export const archivedDenials = (storage: Pick<ArchiveStorage, 'metadata' | 'location'>): ArchivedDocument<DenyState> =>
  archivedDocument(storage, {
    folder: DENIED_FOLDER,
    schema: denyStateSchema,
    empty: NOBODY_DENIED,
    unreadable: {
      message: 'The deny list cannot be read.',
      next: 'Nothing is sent until then.',
    },
  });

/**
 * The deny list of the deployment. Reads throw `switch.unreadable` if neither Redis nor the archive has it, and
 * `redis.unreachable`: nothing may be sent then.
 */
export type Denials = ReturnType<typeof sharedDenials>;

/** Keeps the deny list in the archive, and caches it in Redis. */
export function sharedDenials(
  redis: RedisClient,
  archive: ArchivedDocument<DenyState>,
  { prefix, clock }: { readonly prefix: string; readonly clock: Clock },
) {
  const { denied: text, deniedFresh: fresh } = redisKeys(prefix);
  const { read, known, change } = sharedDocument(redis, archive, { schema: denyStateSchema, text, fresh });
  let indexed: { readonly state: DenyState; readonly list: DenyList } | undefined;
  return {
    read,
    /** The newest version that is known, for display. */
    known,
    /** Indexed for look-ups. */
    list: async (): Promise<DenyList> => {
      const state = await read();
      if (indexed?.state !== state) indexed = { state, list: buildDenyList(state) };
      return indexed.list;
    },
    /**
     * Denies these addresses and domains. Those already in the list stay as they are. Throws `usage.invalid` if the list
     * would get too long, and `archive.unwritable`. @returns the added entries
     */
    deny: async (requests: readonly DenialRequest[], author: SwitchAuthor): Promise<readonly Denial[]> => {
      const added = requests.map(({ name, reason = author.reason }): Denial => {
        return { name, by: author.by, reason, since: clock.now() };
      });
      let before: DenyState = NOBODY_DENIED;
      const after = await change((state) => {
        before = state;
        const next = withDenials(state, added, author, clock.now());
        if (next.entries.length > MAX_DENIED) throw tooManyDenials(next.entries.length);
        return next;
      });
      return after.entries.slice(before.entries.length);
    },
    /** Removes these from the list. @returns the removed entries */
    allow: async (names: readonly string[], author: SwitchAuthor): Promise<readonly Denial[]> => {
      let removed: readonly Denial[] = [];
      await change((state) => {
        removed = state.entries.filter(({ name }) => names.includes(name));
        return withoutDenials(state, names, author, clock.now());
      });
      return removed;
    },
  };
}
