import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachWithConcurrency } from '../../base/concurrency.ts';
import { isoInstant } from '../../base/time.ts';
import { inStagedFolder, type PublishedRun } from '../../deliver/archive/archive.ts';
import { type Manifest, manifestSchema } from '../../deliver/archive/manifest.ts';
import { assembleRunFolder } from '../../deliver/archive/run-folder/run-folder.ts';
import { parseMetadata } from '../../deliver/archive/run-folder/run-metadata.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { directoryRunFiles } from '../../deliver/archive/storage/directory-storage.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { DEFAULT_LOCALE } from '../../i18n/messages.ts';
import { withComments } from '../../render/figures/comments/printed-comments.ts';
import type { Rendered } from '../../render/renderer.ts';
import { markRepeated } from '../corrections/corrected-edition.ts';
import { publishRun, type RenderInput, renderRun, revealOutputSecrets } from '../render-stage.ts';
import type { RunContext, RunPorts } from '../run-context.ts';
import { createManifest } from '../run-manifest.ts';
import type { RunOrder } from '../run-record.ts';
import { publishPacks, renderPacks } from '../split/build-packs.ts';
import type { FiguresReader } from './frozen-figures.ts';
import { writeRenderFiles } from './frozen-templates.ts';
import { contentFile, type Reviews } from './load-review.ts';
import type { ReviewState } from './review-state.ts';

/** Stored figures with their review. */
export interface ReviewedFigures {
  readonly figures: FiguresReader;
  /** SHA-256 (hex) of the figures; `content`: of figures and comments. */
  readonly hash: string;
  readonly content: string;
  readonly state: ReviewState;
}

/** What rendering uses besides the figures. The files that it reads are in `folder`. */
async function renderInput(
  { figures }: ReviewedFigures,
  folder: string,
  { definition }: RunContext,
  ports: RunPorts,
): Promise<Omit<RenderInput, 'dataset'>> {
  const { inputs } = figures;
  return {
    folder,
    secrets: await revealOutputSecrets(definition, ports),
    madeAt: inputs.madeAt,
    paths: await writeRenderFiles(await figures.files(), folder, inputs.settings.logo),
  };
}

/** The figures with the comments to print. In a pack, a comment on its value replaces the comment for all packs. */
function commented(dataset: Dataset, { state }: ReviewedFigures, { definition, settings }: RunContext): Dataset {
  const locale = definition.locale ?? settings.locale ?? DEFAULT_LOCALE;
  const { desk } = dataset;
  const own = new Set(
    state.comments.flatMap(({ section, value }) => (value === undefined || value !== desk?.value ? [] : [section])),
  );
  const typed = state.comments.flatMap(({ section, value, text, by: { name: author }, at }) =>
    (value === undefined ? !own.has(section) : value === desk?.value) ? [{ section, text, author, at }] : [],
  );
  return withComments(dataset, typed, locale);
}

/**
 * The manifest of the files that people look at before they approve this content. They are rendered once per content,
 * without the line that names the approvers.
 */
export async function reviewedManifest(
  reviewed: ReviewedFigures,
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
  reviews: Reviews,
): Promise<Manifest> {
  const name = contentFile(reviewed.content, 'manifest.json');
  const stored = await reviews.get(order, name);
  if (stored !== undefined) return parseMetadata(`the review of run ${order.id}`, name, stored, manifestSchema);
  return inStagedFolder(order, ports, async (folder) => {
    const { figures } = reviewed;
    const input = await renderInput(reviewed, folder, context, ports);
    const split = await figures.split();
    if (split !== undefined) {
      const printed = (dataset: Dataset) => commented(dataset, reviewed, context);
      const packs = await renderPacks(split, { ...input, printed }, order, context, ports);
      await storeContent(reviews, order, reviewed.content, folder, packs.manifest, packs);
      return packs.manifest;
    }
    const dataset = commented(await figures.dataset(folder), reviewed, context);
    const rendered = await renderRun({ ...input, dataset }, order, context, ports);
    const manifest: Manifest = {
      ...createManifest({ ...input, dataset }, rendered.artifacts, order, context, ports),
      ...figures.inputs.conditions,
    };
    await storeContent(reviews, order, reviewed.content, folder, manifest, rendered);
    return manifest;
  });
}

/** Renders sealed content from the stored figures, with the approvers' names, and publishes it. */
export async function publishReviewed(
  reviewed: ReviewedFigures,
  folder: string,
  order: RunOrder,
  context: RunContext,
  ports: RunPorts,
): Promise<PublishedRun> {
  const input = await renderInput(reviewed, folder, context, ports);
  const { figures } = reviewed;
  const printed = (frozen: Dataset) => withApproval(commented(frozen, reviewed, context), reviewed);
  const split = await figures.split();
  if (split !== undefined) {
    const how = { ...input, printed, review: manifestReview(reviewed) };
    return publishPacks(await renderPacks(split, how, order, context, ports), folder, order, context, ports);
  }
  const dataset = printed(await figures.dataset(folder));
  const rendered = await renderRun({ ...input, dataset }, order, context, ports);
  const { conditions } = figures.inputs;
  return publishRun({ ...input, dataset }, rendered, order, context, ports, async () => ({
    ...conditions,
    review: manifestReview(reviewed),
  }));
}

function withApproval(dataset: Dataset, { state, content }: ReviewedFigures): Dataset {
  if (state.approvals.length === 0) return dataset;
  const { repeats } = state.approvals.findLast((approval) => approval.repeats) ?? {};
  return {
    ...markRepeated(dataset, repeats),
    approval: {
      by: state.approvals.map(({ by: { name, for: approver }, at }) => ({
        ...{ name, at: isoInstant(at) },
        ...(approver && { for: approver.name }),
      })),
      content,
    },
  };
}

const manifestReview = ({ hash, content, state }: ReviewedFigures): NonNullable<Manifest['review']> => ({
  content,
  figures: hash,
  need: state.need,
  approved_by: state.approvals.map(({ by: { person, name, principal, for: approver }, at, reason }) => ({
    person,
    name,
    principal,
    at: isoInstant(at),
    reason,
    ...(approver && { for: { person: approver.id, name: approver.name } }),
  })),
  comments: state.comments.map(({ section, value, text, by: { person, name: author }, at, version }) => ({
    section,
    ...(value === undefined ? {} : { value }),
    text,
    person,
    author,
    at: isoInstant(at),
    version,
  })),
});

const MANIFEST = 'manifest.json';
const CONCURRENCY = 4;

/**
 * Stores the files that people look at, in the layout of a published run: `files/`, `mail.html`, `manifest.json`. The
 * manifest is written last: if it exists, all files do.
 *
 * @param folder the private folder with the rendered files, which are moved
 */
export async function storeContent(
  reviews: Reviews,
  run: RunRef,
  content: string,
  folder: string,
  manifest: Manifest,
  { artifacts, mail }: Rendered,
): Promise<void> {
  await assembleRunFolder(folder, 'files', manifest, artifacts, mail);
  const names = await directoryRunFiles(folder).list();
  const put = async (name: string): Promise<void> =>
    reviews.put(run, contentFile(content, name), await readFile(join(folder, ...name.split('/'))));
  await forEachWithConcurrency(
    names.filter((name) => name !== MANIFEST),
    CONCURRENCY,
    put,
  );
  await put(MANIFEST);
}
