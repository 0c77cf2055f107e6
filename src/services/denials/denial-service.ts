import { DocketError } from '../../base/error.ts';
import { type Denial, denialText } from '../../deliver/denials/deny-list.ts';
import { parseDenials } from '../../deliver/denials/parse-denials.ts';
import type { AuditActor, AuditEvent } from '../audit-log.ts';
import type { Deployment } from '../deployment/deployment.ts';

export { buildDenyList as denyListOf, type Denial, NOBODY_DENIED } from '../../deliver/denials/deny-list.ts';

/** How many names an audit log entry contains. */
const MAX_NAMED = 20;

/** The deny list for people's use. Throws `switch.unreadable`, `archive.*`, `redis.unreachable`. */
export function createDenialService({ denials, audit }: Pick<Deployment, 'denials' | 'audit'>) {
  const record = async (event: AuditEvent, changed: readonly Denial[], { by, from, reason }: AuditActor) => {
    if (changed.length === 0) return;
    const named = changed.slice(0, MAX_NAMED).map(({ name }) => name);
    const more = changed.length > MAX_NAMED ? [`${changed.length - MAX_NAMED} more`] : [];
    await audit.record({ event, who: by, from, why: `${[...named, ...more].join(', ')}: ${reason}` });
  };
  return {
    /** The entries, oldest first. */
    list: async (): Promise<readonly Denial[]> => (await denials.read()).entries,

    /**
     * Denies the addresses and domains in a text (`parseDenials`). Throws `usage.invalid`, and changes nothing then.
     * @returns the added entries; the others were already in the list
     */
    deny: async (text: string, actor: AuditActor): Promise<readonly Denial[]> => {
      const added = await denials.deny(parseDenials(text), actor);
      await record('recipient.denied', added, actor);
      return added;
    },

    /** Removes addresses and domains from the list. @returns the removed entries */
    allow: async (text: string, actor: AuditActor): Promise<readonly Denial[]> => {
      const removed = await denials.allow(
        parseDenials(text).map(({ name }) => name),
        actor,
      );
      await record('recipient.allowed', removed, actor);
      return removed;
    },
  };
}
export type DenialService = ReturnType<typeof createDenialService>;

/** Throws `deliver.recipient_denied` before a person sends something that would be skipped. */
export async function assertNotDenied(address: string, { denials }: Pick<Deployment, 'denials'>): Promise<void> {
  const denial = (await denials.list()).find(address);
  if (denial === undefined) return;
  throw new DocketError('deliver.recipient_denied', `Nothing is sent to ${address}: it is on the deny list.`, {
    expected: 'a recipient who is not on the deny list',
    got: denialText(denial),
    next: `Name somebody else, or take ${denial.name} off the list with \`docket deny\` and --remove.`,
  });
}
