import { z } from 'zod';
import { toDocketError } from '../../base/error.ts';
import type { Manifest } from '../../deliver/archive/archive.ts';
import { readManifest } from '../../deliver/archive/run-folder/run-metadata.ts';
import { plannedDeliveries } from '../../deliver/planned-deliveries.ts';
import type { DefinitionStore } from '../../queue/definitions/definition-store.ts';
import { loadReview, type Reviews } from '../../run/review/load-review.ts';
import type { RunOrder } from '../../run/run-record.ts';
import { findFrozenDefinition } from '../definitions/frozen-definition.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { reviewedFiles } from '../reviews/reviewed-files.ts';

/** What a run that waits for people lacks, and who would receive its files. */
export const releasePreviewSchema = z.object({
  missing: z
    .array(
      z.object({
        section: z.string(),
        title: z.string().nullable(),
        code: z.string(),
        text: z.string().describe('One sentence, in the report’s language.'),
      }),
    )
    .readonly()
    .nullable()
    .describe('What is missing in its files; null if the archive does not say.'),
  recipients: z
    .array(
      z.object({
        target: z.string(),
        recipient: z.string(),
        receives: z.boolean(),
        why: z.string().nullable().describe('Why the recipient would receive nothing.'),
      }),
    )
    .readonly()
    .nullable()
    .describe('Who would receive it now; null if the archive or the run’s definition is not available.'),
});
export type ReleasePreview = z.infer<typeof releasePreviewSchema>;

/**
 * The missing figures of a published or reviewed run, and the recipients if it were released or approved now: those in
 * its frozen definition, checked against the current allow-list. Undefined if the run's files do not exist. Throws
 * `archive.*`, `redis.unreachable`.
 */
export async function loadReleasePreview(run: RunOrder, deployment: Deployment): Promise<ReleasePreview | undefined> {
  const { archive, definitions, reviews, orgs, workingDirectory = process.cwd() } = deployment;
  const [published, frozen] = await Promise.all([archive.peek(run), readableDefinition(run, definitions)]);
  const manifest = published?.manifest ?? (await reviewedManifest(run, reviews));
  if (manifest === undefined) return undefined;
  const titleOf = (id: string) => frozen?.definition.sections.find((section) => section.id === id)?.title ?? null;
  const missing = manifest.incomplete.map(({ section, code, text }) => {
    return { section, title: titleOf(section), code, text };
  });
  if (frozen === undefined) return { missing, recipients: null };
  const { definition, settings: before } = frozen;
  const settings = { ...before, recipients: orgs().get(run.org)?.recipients ?? before.recipients };
  return {
    missing,
    recipients: plannedDeliveries(manifest, { ...deployment, definition, settings, workingDirectory }),
  };
}

/** The manifest of the content under review; undefined while there is nothing to look at. */
async function reviewedManifest({ id, org, report }: RunOrder, reviews: Reviews): Promise<Manifest | undefined> {
  const run = { id, org, report };
  const { content } = (await loadReview(reviews, run)).state;
  return content === null ? undefined : readManifest(reviewedFiles(reviews, run, content));
}

/** Also undefined if this version of Docket cannot read the definition: the preview then shows less. */
const readableDefinition = (run: RunOrder, definitions: DefinitionStore) =>
  findFrozenDefinition(run, definitions).catch((thrown: unknown) => {
    if (toDocketError(thrown).code === 'definition.invalid') return undefined;
    throw thrown;
  });
