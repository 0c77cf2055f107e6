import { isSamePeriodDays } from '../../deliver/archive/archived-runs.ts';
import { MAX_AUTOMATIC_EDITIONS } from '../../run/corrections/corrected-edition.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { type Correction, DOCKET, foldCorrections } from './correction.ts';
import type { Edition, EditionPack } from './editions.ts';

/**
 * Counts the corrected editions of the report and period that Docket sent without a person, except those that nobody
 * received. Reads only the archive. Throws `archive.*`.
 */
async function countAutomaticEditions(
  { run, manifest }: Edition,
  { corrections, archive }: Deployment,
): Promise<number> {
  let count = 0;
  for (const { run: other, lastEvent } of await corrections.list()) {
    if (lastEvent === 0 || other.org !== run.org || other.report !== run.report) continue;
    const sent = foldCorrections(other, await corrections.events(other)).filter(
      ({ state, decision, ended }) => state === 'sent' && decision?.by === DOCKET && !ended,
    );
    if (sent.length === 0) continue;
    const of = other.id === run.id ? manifest : (await archive.peek(other))?.manifest;
    if (of !== undefined && isSamePeriodDays(of.period, manifest.period)) count += sent.length;
  }
  // Earlier runs may have left the archive, but the manifest has their count.
  return Math.max(count, manifest.corrects?.automatic ?? 0);
}

/** Whether Docket has sent as many corrected editions of a pack by itself as it may. */
export const isCappedPack = ({ manifest: { corrects } }: Pick<EditionPack, 'manifest'>): boolean =>
  (corrects?.automatic ?? 0) >= MAX_AUTOMATIC_EDITIONS;

/**
 * Whether Docket sends a correction no more by itself. With `split`, each pack has its own count: Docket still corrects
 * the others. Throws as `countAutomaticEditions`.
 */
export async function isAutomaticCapped(
  { values }: Pick<Correction, 'values'>,
  edition: Edition,
  deployment: Deployment,
): Promise<boolean> {
  const { packs } = edition;
  if (packs !== undefined && values !== undefined)
    return packs.filter(({ value }) => values.includes(value)).every(isCappedPack);
  return (await countAutomaticEditions(edition, deployment)) >= MAX_AUTOMATIC_EDITIONS;
}
