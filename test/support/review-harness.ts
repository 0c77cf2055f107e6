import { silentLog } from '../../src/base/log.ts';
import type { OrgSettings } from '../../src/definitions/schema/org-settings.ts';
import type { Definition } from '../../src/definitions/schema/report-definition.ts';
import { createReviewArchive } from '../../src/deliver/archive/reviews/create-review-archive.ts';
import type { ArchiveMetadata } from '../../src/deliver/archive/storage/archive-storage.ts';
import type { Dataset } from '../../src/fetch/dataset.ts';
import { storeFigures } from '../../src/run/review/frozen-figures.ts';
import type { Reviews } from '../../src/run/review/load-review.ts';
import { type NewReviewEvent, type ReviewActor, reviewEventSchema } from '../../src/run/review/review-event.ts';
import type { ReviewInputs } from '../../src/run/review/review-inputs.ts';
import type { RunRecord } from '../../src/run/run-record.ts';
import type { AuditLog } from '../../src/services/audit-log.ts';
import type { Deployment } from '../../src/services/deployment/deployment.ts';
import { createReviewService, type ReviewService } from '../../src/services/reviews/create-review-service.ts';
import type { Reviewer } from '../../src/services/reviews/review-service.ts';
import type { FindEarlierDelivery } from '../../src/services/runs/already-delivered.ts';
import { dataset, MADE_AT, onboarding } from './dataset.ts';
import { NEVER_STOPPED, NO_AUDIT, NOBODY_IS_DENIED } from './decision-harness.ts';
import { fake } from './fake.ts';
import { runOf } from './page-data.ts';
import { definitionOf, settingsOf } from './reports.ts';

export const tokenOf = (name: string): Reviewer => ({ name, kind: 'token', subject: `token:${name}` });
export const accountOf = (email: string): Reviewer => {
  return { name: email, kind: 'account', subject: `https://id.example ${email.split('@')[0]}` };
};

/** Inputs with two people who may approve, one with a token and an account. */
export const REVIEW_INPUTS: ReviewInputs = {
  version: 1,
  sections: [{ id: 'onboarding', required: false }],
  incomplete: false,
  nothing_to_send: false,
  approval: { by: ['mlro', 'cfo@acme.example'], need: 1, four_eyes: true, otherwise: 'hold' },
  people: { mlro: { name: 'Mia Lro', tokens: ['mia'], accounts: ['mia@acme.example'] } },
};

/** The files of an archive, in memory. */
export function memoryMetadata(): ArchiveMetadata {
  const files = new Map<string, Buffer>();
  const below = (folder: string) => [...files.keys()].filter((name) => name.startsWith(`${folder}/`));
  return {
    get: async (name) => files.get(name),
    put: async (name, bytes) => void files.set(name, Buffer.from(bytes)),
    putIfAbsent: async (name, bytes) => {
      if (files.has(name)) return false;
      files.set(name, Buffer.from(bytes));
      return true;
    },
    list: async (folder) =>
      below(folder)
        .map((name) => name.slice(folder.length + 1))
        .sort(),
    deleteAll: async (folder) => {
      for (const name of below(folder)) files.delete(name);
    },
  };
}

type WithoutAuthor<Event> = Event extends unknown ? Omit<Event, 'at' | 'by'> : never;
/** An event, by Docket unless an author is given. */
export type ReviewStep = WithoutAuthor<NewReviewEvent> & { readonly by?: ReviewActor };

export interface ReviewHarness {
  readonly service: ReviewService;
  readonly reviews: Reviews;
  readonly records: Map<string, RunRecord>;
  /** The runs that were enqueued again, in order. */
  readonly requeued: readonly string[];
  /** Appends events to the review of a run, like the worker or another process. */
  append(run: RunRecord, ...events: readonly ReviewStep[]): Promise<void>;
  /** A run with reviewed figures, and the content of its review. */
  reviewed(run: RunRecord, inputs?: ReviewInputs): Promise<string>;
}

export const DOCKET_ACTOR = { person: 'docket', name: 'Docket', principal: 'docket' };

/** A run that waits for approval. */
export const awaitingRun = (change: Partial<RunRecord> = {}): RunRecord =>
  runOf('reviewed', 'awaiting_approval', { report: 'weekly', digest: 'd'.repeat(64), files: [], ...change });

/** Reviews in memory. @param now the start of the clock in epoch ms; each reading is a second later */
export function reviewHarness({
  definition = definitionOf([{ id: 'onboarding', title: 'Onboarding', metrics: ['profiles.created'] }]),
  settings = settingsOf(),
  figures = dataset([onboarding]),
  now = Date.parse('2026-11-21T13:12:00Z'),
  findDelivered,
  audit = NO_AUDIT,
}: {
  readonly definition?: Definition;
  readonly settings?: OrgSettings;
  readonly figures?: Dataset;
  readonly now?: number;
  readonly findDelivered?: FindEarlierDelivery;
  readonly audit?: AuditLog;
} = {}): ReviewHarness {
  const reviews: Reviews = createReviewArchive(
    fake({ metadata: memoryMetadata(), location: 'memory' }),
    reviewEventSchema,
  );
  const records = new Map<string, RunRecord>();
  const requeued: string[] = [];
  let at = now;
  const clock = { now: () => (at += 1000), monotonic: () => at, sleep: async () => {} };
  const harness: Omit<ReviewHarness, 'service'> = {
    reviews,
    records,
    requeued,
    append: async (run, ...events) => {
      for (const event of events) {
        const seq = (await reviews.events(run)).length + 1;
        await reviews.append(run, seq, reviewEventSchema.parse({ at: clock.now(), by: DOCKET_ACTOR, ...event, seq }));
      }
    },
    reviewed: async (run, inputs = REVIEW_INPUTS) => {
      records.set(run.id, run);
      const frozen = { order: run, definition, settings, docket: '0.0.0', madeAt: MADE_AT };
      const rest = { conditions: { conditions: [] }, dataset: figures, review: inputs, files: [] };
      await harness.append(run, { type: 'figures', figures: await storeFigures(reviews, run, { ...frozen, ...rest }) });
      const view = await service.view(run.id, undefined);
      return view?.state.content ?? '';
    },
  };
  const deployment = fake<Deployment>({
    reviews,
    runs: fake({
      get: async (id) => records.get(id),
      list: async () => [...records.values()],
      reopen: async (id, from, decision) => {
        const record = records.get(id);
        if (record === undefined || !from.includes(record.state)) return undefined;
        const reopened: RunRecord = { ...record, state: 'queued', reopened: [...record.reopened, decision] };
        records.set(id, reopened);
        return reopened;
      },
    }),
    switches: NEVER_STOPPED,
    denials: NOBODY_IS_DENIED,
    queue: fake({ requeue: async ({ id }) => void requeued.push(id) }),
    audit,
    clock,
    log: silentLog,
  });
  const service = createReviewService(deployment, findDelivered);
  return { ...harness, service };
}
