import { sha256 } from '../../src/base/sha256.ts';
import { reportFileSchema } from '../../src/compose/built-in-kinds.ts';
import type { Archive } from '../../src/deliver/archive/archive.ts';
import { correctionArchive } from '../../src/deliver/archive/corrections/correction-archive.ts';
import { createReviewArchive } from '../../src/deliver/archive/reviews/create-review-archive.ts';
import type { ArchiveStorage } from '../../src/deliver/archive/storage/archive-storage.ts';
import { definitionStore } from '../../src/queue/definitions/definition-store.ts';
import { storeFigures } from '../../src/run/review/frozen-figures.ts';
import { storeContent } from '../../src/run/review/render-reviewed.ts';
import { reviewEventSchema } from '../../src/run/review/review-event.ts';
import { createCorrectionService } from '../../src/services/corrections/correction-service.ts';
import type { Deployment } from '../../src/services/deployment/deployment.ts';
import { createReviewService } from '../../src/services/reviews/create-review-service.ts';
import { dataset, onboarding } from './dataset.ts';
import type { DecisionHarness } from './decision-harness.ts';
import { NEVER_STOPPED, NO_AUDIT, NOBODY_IS_DENIED } from './decision-harness.ts';
import { manifestOf, writeArtifact } from './delivery-case.ts';
import { fake } from './fake.ts';
import type { ManualClock } from './manual-clock.ts';
import { anOrder, type QueueHarness, type recordingLog, reportDefinition } from './queue-harness.ts';
import { definitionOf, settingsOf } from './reports.ts';

/** Reviews and corrections in the archive of a harness. */
export function fuzzedReviews({
  harness,
  desk,
  storage,
  archive,
  clock,
  log,
}: {
  readonly harness: QueueHarness;
  readonly desk: DecisionHarness;
  readonly storage: ArchiveStorage;
  readonly archive: Archive;
  readonly clock: ManualClock;
  readonly log: ReturnType<typeof recordingLog>;
}) {
  const reviews = createReviewArchive(storage, reviewEventSchema);
  const corrections = correctionArchive(storage);
  const stored = { prefix: harness.prefix, keepDays: 30, reportSchema: reportFileSchema };
  const definitions = definitionStore(harness.producer, stored);
  const deployment = fake<Deployment>({
    ...{ runs: harness.runs, queue: harness.queue, ledger: desk.ledger, definitions },
    switches: NEVER_STOPPED,
    denials: NOBODY_IS_DENIED,
    ...{ reviews, corrections, archive, audit: NO_AUDIT, orgs: () => new Map(), clock, log },
  });
  const reviewService = createReviewService(deployment, undefined);
  const correctionService = createCorrectionService(deployment, async () => false);
  return {
    reviewService,
    correctionService,
    /** A run that waits for the approval of the token `ops`. @param word is in everything that is stored of it */
    reviewedRun: async (org: string, word: string): Promise<string> => {
      const { id } = await desk.ended('awaiting_approval', [], anOrder({ org, by: word, createdAt: clock.now() }));
      const order = { ...anOrder({ org, by: word }), id };
      const by = { person: word, name: word, principal: 'docket' };
      const definition = definitionOf([{ id: 'onboarding', title: word, metrics: ['profiles.created'] }]);
      const figures = await storeFigures(reviews, order, {
        order,
        definition: { ...definition, org, title: word },
        settings: { ...settingsOf(), id: org, name: word },
        docket: '0.0.0',
        madeAt: clock.now(),
        conditions: { conditions: [] },
        dataset: dataset([onboarding]),
        files: [],
        review: {
          version: 1,
          sections: [{ id: 'onboarding', required: false }],
          incomplete: false,
          nothing_to_send: false,
          approval: { by: ['ops', 'them'], need: 1, four_eyes: false, otherwise: 'hold' },
          people: { dora: { name: 'Dora', tokens: ['dora'], accounts: [] } },
        },
      });
      await reviews.append(order, 1, { seq: 1, at: clock.now(), by, type: 'figures', figures });
      const content = (await reviewService.view(id, undefined))?.state.content ?? '';
      const folder = await archive.stage(id);
      const artifacts = [await writeArtifact(folder, 'figures.csv', `${word}\r\n`)];
      const mail = { html: `<p>${word}</p>`, text: word, pictures: [] };
      const manifest = { ...manifestOf(artifacts, id), org, report: 'weekly' };
      await storeContent(reviews, order, content, folder, manifest, { artifacts, mail });
      return id;
    },
    /** A delivered run whose figures have changed. @returns the id of the correction */
    correction: async (org: string, word: string): Promise<string> => {
      const { id } = await desk.ended('done', ['sent'], anOrder({ org, by: word, createdAt: clock.now() }));
      const run = { id, org, report: 'weekly' };
      const digest = sha256(org);
      const { definition, settings } = reportDefinition('weekly', { cron: '0 8 * * MON' }, org);
      await definitions.put({ definition: { ...definition, title: word, digest }, settings });
      const text = JSON.stringify({
        version: 1,
        run: id,
        org,
        report: 'weekly',
        digest,
        period: anOrder().period,
        corrections: { watch: '35d', materiality: '1%' },
        definition: {},
        settings: {},
        sections: [],
        boundaries: [],
      });
      const hash = await corrections.putFigures(run, text);
      const staged = await archive.stage(id);
      const manifest = { ...manifestOf([], id), org, report: 'weekly', title: word, edition_figures: hash };
      await archive.publish(staged, manifest, [], { html: word, text: word, pictures: [] });
      const change = { section: word, metric: 'profiles.created', bucket: null, group: null, before: 1, after: 2 };
      const counts = { figures: hash, changes: [change], material: 1, total: 1 };
      await corrections.append(run, { seq: 1, at: clock.now(), correction: 1, type: 'found', ...counts });
      return `${id}-1`;
    },
    /** The content that an approval must name now; undefined for a run without a review. */
    contentOf: async (run: string): Promise<string | undefined> =>
      (await reviewService.view(run, undefined))?.state.content ?? undefined,
  };
}
