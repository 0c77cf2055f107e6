import type { AdminServices } from '../../admin/access/services.ts';
import { recipientSearchText } from '../../definitions/allow-lists/recipients.ts';
import { newestFirst } from '../../queue/runs/run-index.ts';
import type { IndexedRecipient } from '../../queue/runs/search-index.ts';
import type { RunFilter, RunRecord } from '../../run/run-record.ts';
import { findMentions, type Mention } from '../../services/listings/address-mentions.ts';
import { type FoundReport, matchReports } from '../../services/listings/match-reports.ts';
import { findPeriod } from '../../services/listings/period-words.ts';
import { collectDeliveries, exactOr, type ReceivedDelivery, recipientTerm } from '../../services/listings/received.ts';
import { runsWithPrefix } from '../../services/runs/resolve-id.ts';

/** The first matches of a group, and their total number. */
export interface SearchGroup<Match> {
  readonly matches: readonly Match[];
  readonly total: number;
  /** `total` is a lower limit: counting stopped there. */
  readonly isMinimum: boolean;
}

/** A recipient, with the newest deliveries of the runs that delivered to it. */
export interface FoundRecipient extends SearchGroup<ReceivedDelivery> {
  readonly org: string;
  readonly recipient: string;
}

export interface SearchResult {
  readonly period: SearchQuery['period'];
  /** The words of the search in lower case, without its period. */
  readonly words: readonly string[];
  readonly reports: SearchGroup<FoundReport>;
  /** Found by the start of their id, or by their period and report. */
  readonly runs: SearchGroup<RunRecord>;
  readonly recipients: SearchGroup<FoundRecipient>;
  /** For a complete address: where definitions name it. */
  readonly mentions: readonly Mention[];
}

type Services = AdminServices;

/** @param orgs the organizations that the principal may see */
export type FindMatches = (text: string, orgs: readonly string[] | '*') => Promise<SearchResult>;

/** Maximum matches shown in each group. */
const MAX_REPORTS = 10;
const MAX_RUNS = 10;
const MAX_RECIPIENTS = 5;
const MAX_RUNS_OF_RECIPIENT = 5;
/** Runs are counted up to this number. */
const MAX_COUNT = 100;
/** Shorter words would match too many recipients. */
const MIN_RECIPIENT_LETTERS = 2;

const none = { matches: [], total: 0, isMinimum: false } as const;

/**
 * Searches reports (id and title), runs (start of the id, period) and recipients (part of the address) of the visible
 * organizations. Throws `redis.unreachable`.
 */
export async function findMatches(
  text: string,
  orgs: readonly string[] | '*',
  services: Services,
): Promise<SearchResult> {
  const query = parseSearch(text, services.clock.now());
  if (query.allWords.length === 0)
    return { period: null, words: [], reports: none, runs: none, recipients: none, mentions: [] };
  await services.searchIndex.refresh();
  const visible = ({ org }: { readonly org: string }): boolean => orgs === '*' || orgs.includes(org);
  const recorded = await services.searchIndex.reports();
  const matching = (words: readonly string[]) =>
    words.length === 0 ? [] : matchReports(words, services.jobs(), recorded).filter(visible);
  const ofWords = matching(query.words);
  const ofAll = query.period === null ? ofWords : matching(query.allWords);
  const reports = [...new Map([...ofAll, ...ofWords].map((each) => [`${each.org}/${each.report}`, each])).values()];
  const [runs, recipients, mentions] = await Promise.all([
    searchRuns(query, ofWords, orgs, services),
    searchRecipients(query, orgs, services),
    findMentions(query.words.find((word) => word.includes('@')) ?? '', services.jobs(), orgs),
  ]);
  const { period, words } = query;
  return { period, words, reports: toGroup(reports, MAX_REPORTS), runs, recipients, mentions };
}

const toGroup = <Match>(all: readonly Match[], max: number): SearchGroup<Match> => ({
  matches: all.slice(0, max),
  total: all.length,
  isMinimum: false,
});

async function searchRuns(
  { idPrefix, period, words }: SearchQuery,
  reports: readonly FoundReport[],
  orgs: readonly string[] | '*',
  services: Services,
): Promise<SearchGroup<RunRecord>> {
  const byId: RunRecord[] = [];
  if (idPrefix !== null) {
    for await (const record of runsWithPrefix(idPrefix, services.runs, orgs)) {
      byId.push(record);
      if (byId.length > MAX_COUNT) break;
    }
  }
  const ids: SearchGroup<RunRecord> = {
    matches: byId.slice(0, MAX_RUNS),
    total: Math.min(byId.length, MAX_COUNT),
    isMinimum: byId.length > MAX_COUNT,
  };
  if (period === null || (words.length > 0 && reports.length === 0)) return ids;
  const ofReports = words.length === 0 ? undefined : reports.map(({ org, report }) => `${org}/${report}`);
  const byPeriod = await findRuns({ begins: period, reports: ofReports }, MAX_RUNS, orgs, services);
  if (byId.length === 0) return byPeriod;
  const others = byPeriod.matches.filter(({ id }) => byId.every((found) => found.id !== id));
  return {
    matches: [...ids.matches, ...others].slice(0, MAX_RUNS),
    total: ids.total + byPeriod.total - (byPeriod.matches.length - others.length),
    isMinimum: ids.isMinimum || byPeriod.isMinimum,
  };
}

/** The newest runs of a filter, and their total number. */
async function findRuns(
  filter: Omit<RunFilter, 'limit' | 'after'>,
  max: number,
  orgs: readonly string[] | '*',
  { runs }: Pick<Services, 'runs'>,
): Promise<SearchGroup<RunRecord>> {
  const scopes = orgs === '*' ? [undefined] : [...new Set(orgs)];
  const each = await Promise.all(scopes.map((org) => runs.listAndCount({ ...filter, org, limit: max }, MAX_COUNT + 1)));
  const total = each.reduce((sum, found) => sum + found.total, 0);
  const matches = each
    .flatMap((found) => found.runs)
    .sort(newestFirst)
    .slice(0, max);
  return { matches, total: Math.min(total, MAX_COUNT), isMinimum: total > MAX_COUNT };
}

async function searchRecipients(
  { words, period }: SearchQuery,
  orgs: readonly string[] | '*',
  services: Services,
): Promise<SearchGroup<FoundRecipient>> {
  const parts = words.map(recipientSearchText);
  const longest = [...parts].sort((one, other) => other.length - one.length)[0] ?? '';
  if (longest.length < MIN_RECIPIENT_LETTERS) return none;
  const others = parts.filter((part) => part !== longest);
  const containing = (await services.searchIndex.findRecipients(longest, orgs)).filter(({ name }) =>
    others.every((word) => name.includes(word)),
  );
  const found = exactOr(longest, containing);
  const matches = await Promise.all(
    found.slice(0, MAX_RECIPIENTS).map((recipient) => receivedBy(recipient, period, services)),
  );
  return { matches, total: found.length, isMinimum: false };
}

async function receivedBy(
  { org, recipient, name }: IndexedRecipient,
  period: SearchQuery['period'],
  services: Services,
): Promise<FoundRecipient> {
  const filter = { recipients: [name], ...(period === null ? {} : { begins: period }) };
  const { matches: runs, total, isMinimum } = await findRuns(filter, MAX_RUNS_OF_RECIPIENT, [org], services);
  const matches = await collectDeliveries(runs, services, (row) => recipientTerm(row.recipient) === recipient);
  return { org, recipient, matches, total, isMinimum };
}

/** The parsed text of the search box. A run matches if its period begins on one of the days that the text names. */
interface SearchQuery extends ReturnType<typeof findPeriod> {
  /** The first digits of an id; null if the text is not an id. */
  readonly idPrefix: string | null;
}

/** From this many hex digits on, a text counts as the start of an id. */
const MIN_ID_DIGITS = 4;

/** @param now see `findPeriod` */
export function parseSearch(text: string, now: number): SearchQuery {
  const found = findPeriod(text, now);
  const [only = '', ...others] = found.allWords;
  const isId = others.length === 0 && only.length >= MIN_ID_DIGITS && /^[0-9a-f]{1,32}$/.test(only);
  return { ...found, idPrefix: isId ? only : null };
}
