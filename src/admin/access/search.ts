import { listReceived, type ReceivedPorts } from '../../services/search/received.ts';
import { type RunPartsPorts, runPartsFilter } from '../../services/search/run-parts.ts';
import { type SearchPorts, search } from '../../services/search/search.ts';
import type { Principal } from '../auth/tokens.ts';
import { type Access, assertVisible } from './access.ts';

export type SearchAccessPorts = Omit<SearchPorts, 'now'> & ReceivedPorts & RunPartsPorts;

/** Searches among the visible organizations. */
export const searchAccess = (ports: SearchAccessPorts, principal: Principal): Pick<Access, 'search' | 'received'> => ({
  search: (text) => search(text, principal.orgs, { ...ports, now: ports.clock.now }),

  received: async ({ org, report, match, to, period, ...filter }) => {
    if (org !== undefined) assertVisible(principal, org);
    const orgs = org === undefined ? principal.orgs : [org];
    const { reports, begins } = await runPartsFilter({ match, period }, orgs, ports);
    return listReceived({ ...filter, orgs, to, begins, report, reports }, ports);
  },
});
