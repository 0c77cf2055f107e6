import type { SearchResult } from '../../../src/features/search/find-matches.ts';
import type { ReceivedDelivery } from '../../../src/services/listings/received.ts';
import { received, runs } from '../../support/page-data.ts';

const group = <Match>(...matches: Match[]) => ({ matches, total: matches.length, isMinimum: false });
export const NOTHING_FOUND: SearchResult = {
  period: null,
  words: [],
  reports: group(),
  runs: group(),
  mentions: [],
  recipients: group(),
};
/** More runs than fit the page, and a recipient that received nothing in the period. */
export const found: SearchResult = {
  period: { from: '2026-10-01', to: '2026-10-31', label: '2026-10' },
  words: ['board'],
  reports: group({ org: 'acme', report: 'board-pack', title: 'Board pack' }),
  runs: { matches: runs, total: 200, isMinimum: true },
  mentions: [],
  recipients: group(
    { org: 'acme', recipient: 'board@acme.example', ...group(...received) },
    { org: 'globex', recipient: 'board@globex.example', ...group<ReceivedDelivery>() },
  ),
};
