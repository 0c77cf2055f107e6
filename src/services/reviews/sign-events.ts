import { toDocketError } from '../../base/error.ts';
import { sha256 } from '../../base/sha256.ts';
import type { RunChain } from '../../deliver/archive/chain/run-chain.ts';
import type { ChainFile } from '../../deliver/archive/chain/signed-document.ts';
import { CORRECTIONS_FOLDER } from '../../deliver/archive/corrections/correction-archive.ts';
import { parseEventPath } from '../../deliver/archive/events/event-record.ts';
import { REVIEWS_FOLDER } from '../../deliver/archive/reviews/review-archive.ts';
import type { ArchiveStorage } from '../../deliver/archive/storage/archive-storage.ts';
import type { ProcessRegistry } from '../../queue/process-registry.ts';
import type { Deployment } from '../deployment/deployment.ts';

/**
 * A periodic task of workers with a signing key. Once no process of an older version is running, records each
 * organization's existing events in its chain. From then on, only recorded events count. Safe to run in two processes
 * at once.
 */
export function createEventCutOver(
  deployment: Deployment,
  { events: signing }: RunChain,
  processes: ProcessRegistry,
): () => Promise<void> {
  const { orgs, storage, log } = deployment;
  const finished = new Set<string>();
  return async () => {
    for (const org of orgs().keys()) {
      if (finished.has(org)) continue;
      try {
        if (!(await signing.isCutOver(org))) {
          if (await processes.hasOlder()) return;
          const files = await eventFiles(org, storage);
          await signing.cutOver(org, files);
          log.info('Events of reviews and corrections are signed from now on', { org, count: files.length });
        }
        await markOpenReviews(org, deployment);
        finished.add(org);
      } catch (thrown) {
        log.error('Signing the events of reviews could not begin', { org, error: toDocketError(thrown).toJSON() });
      }
    }
  };
}

async function eventFiles(org: string, { metadata }: ArchiveStorage): Promise<readonly ChainFile[]> {
  const files: ChainFile[] = [];
  for (const root of [REVIEWS_FOLDER, CORRECTIONS_FOLDER]) {
    for (const name of await metadata.list(`${root}/${org}`)) {
      const path = `${root}/${org}/${name}`;
      const bytes = parseEventPath(path) === undefined ? undefined : await metadata.get(path);
      if (bytes !== undefined) files.push({ name: path, sha256: sha256(bytes) });
    }
  }
  return files;
}

/** An older version must not continue a review whose later events it cannot verify. */
async function markOpenReviews(org: string, { reviews, clock }: Deployment): Promise<void> {
  for await (const { run } of reviews.listOpen()) if (run.org === org) await reviews.markSigned(run, clock.now());
}
