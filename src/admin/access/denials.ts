import { createDenialService, type Denial, denyListOf, NOBODY_DENIED } from '../../services/denials/denial-service.ts';
import { findMentions, type Mention } from '../../services/listings/address-mentions.ts';
import type { Principal } from '../auth/tokens.ts';
import { assertOperator, auditActor, notFoundError } from './guards.ts';
import type { AdminServices } from './services.ts';

/** The deny list of the deployment, for principals of all organizations, and where definitions name an address. */
export const denialsAccess = (services: AdminServices, principal: Principal) => {
  const assertMayChange = (): void => {
    if (principal.orgs !== '*') throw notFoundError();
    assertOperator(principal);
  };
  return {
    /** Oldest first. Throws `request.not_found`, `switch.unreadable`. */
    denials: async (): Promise<readonly Denial[]> => {
      if (principal.orgs !== '*') throw notFoundError();
      return createDenialService(services).list();
    },

    /** Returns a check of addresses. While the list is unknown, no address counts as denied. */
    isDenied: async (): Promise<(address: string) => boolean> => {
      const list = denyListOf((await services.denials.known()) ?? NOBODY_DENIED);
      return (address) => list.find(address) !== undefined;
    },

    /** The places in the definitions of the visible organizations that name the address. */
    mentions: (address: string): Promise<readonly Mention[]> => findMentions(address, services.jobs(), principal.orgs),

    /**
     * Adds addresses to the list. @param text one address or domain per line, or CSV. Throws `usage.invalid`. @returns
     * the added entries
     */
    deny: async (text: string, reason: string): Promise<readonly Denial[]> => {
      assertMayChange();
      return createDenialService(services).deny(text, auditActor(principal, reason));
    },

    /** Removes addresses from the list. @returns the removed entries */
    allow: async (text: string, reason: string): Promise<readonly Denial[]> => {
      assertMayChange();
      return createDenialService(services).allow(text, auditActor(principal, reason));
    },
  };
};
