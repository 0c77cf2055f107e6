import { z } from 'zod';
import { isoInstant, isoInstantOrNull } from '../../../base/time.ts';
import { REVIEW_PHASES } from '../../../run/review/review-state.ts';
import type { CommentWarning, ReviewView } from '../../../services/reviews/review-service.ts';
import { runSchema, runView } from '../schemas.ts';

const instantSchema = z.iso.datetime();
const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, '64 hex digits');
const sectionSchema = z.string().nullable().describe('Id of the section; null: the whole report.');

/** A review, in the form that `reviewView` returns. */
export const reviewSchema = z
  .object({
    run: runSchema,
    phase: z
      .enum(REVIEW_PHASES)
      .describe(
        'figures, comments, incomplete, approval: what the review waits for (incomplete: a release of incomplete figures). ready: about to be published. sealed, rejected and cancelled are final.',
      ),
    since: instantSchema.nullable().describe('When the phase began.'),
    due: instantSchema.nullable().describe('When the time limit `within` ends; null without one.'),
    figures: sha256Schema.nullable().describe('SHA-256 of the figures and of everything that is frozen with them.'),
    content: sha256Schema.nullable().describe('SHA-256 of the figures and the comments. An approval names this hash.'),
    comments: z
      .array(
        z.object({
          section: sectionSchema,
          value: z.string().nullable().describe('Only in the pack of this value; null: in all packs.'),
          text: z.string().describe('As typed.'),
          author: z.string(),
          at: instantSchema,
          version: z.int(),
        }),
      )
      .readonly(),
    missing_comments: z.array(z.string()).readonly().describe('Sections that still need a comment.'),
    need: z.int().describe('How many different people must approve; 0: none.'),
    approvals: z
      .array(
        z.object({
          name: z.string(),
          for: z.string().nullable().describe('The approver whose deputy this is. Only one of them can approve.'),
          at: instantSchema,
          reason: z.string(),
        }),
      )
      .readonly()
      .describe('Approvals of exactly this content.'),
    delegations: z
      .array(
        z.object({
          ...{ from: z.string(), to: z.string(), by: z.string(), reason: z.string(), at: instantSchema },
          until: instantSchema.nullable().describe('When the deputy stops being one; null: no end.'),
        }),
      )
      .readonly()
      .describe('The deputies that were named, oldest first. The last one of each approver counts.'),
    reviewers: z.array(z.string()).readonly().describe('Who may approve it now; deputies as "DEPUTY for APPROVER".'),
    refusal: z.string().nullable().describe('Why you may not approve it; null if you may.'),
    already_delivered: z
      .string()
      .nullable()
      .describe('What another run has delivered for the period while this one waits; `again` approves it anyway.'),
    can_reject: z.boolean().describe('Whether you may reject it now.'),
    sections: z
      .array(
        z.object({
          id: z.string(),
          title: z.string(),
          required: z.boolean(),
          references: z
            .array(z.object({ reference: z.string(), label: z.string(), text: z.string() }))
            .readonly()
            .describe('Figures that a comment can quote by name, and how they are printed.'),
        }),
      )
      .readonly()
      .describe('The sections that can have comments.'),
    drafts: z
      .array(
        z.object({
          section: sectionSchema,
          kind: z.enum(['comment', 'actions']).describe('actions: only the open actions of the comment.'),
          text: z.string(),
          author: z.string(),
          period: z.string(),
          run: z.string(),
        }),
      )
      .readonly()
      .describe(
        'Drafts from the previous period: whole comments if `carry` is set, otherwise their open actions. Drafts are never printed.',
      ),
    packs: z
      .array(
        z.object({
          value: z.string(),
          label: z.string(),
          slug: z.string().describe('The folder of its files.'),
          headlines: z.array(z.string()).readonly(),
          held: z.string().nullable().describe('Why nobody gets the pack; null if somebody does.'),
        }),
      )
      .readonly()
      .describe('With `split`: the packs that one decision covers. Empty until a worker has created them.'),
    files: z
      .array(z.object({ name: z.string(), bytes: z.int(), href: z.string() }))
      .readonly()
      .describe('The files under review; empty until a worker has created them.'),
    history: z
      .array(
        z.object({
          section: sectionSchema,
          value: z.string().nullable(),
          text: z.string().nullable(),
          author: z.string(),
          at: instantSchema,
        }),
      )
      .readonly()
      .describe('All versions of all comments, oldest first; `text` is null for a withdrawn comment.'),
  })
  .meta({ id: 'Review' });

/** A review, in the form that the API and `docket runs show --json` return. */
export const reviewView = ({ state, record, ...view }: ReviewView): z.infer<typeof reviewSchema> => ({
  run: runView(record),
  phase: state.phase,
  since: isoInstantOrNull(state.since),
  due: isoInstantOrNull(view.due),
  figures: state.figures,
  content: state.content,
  comments: state.comments.map(({ section, value = null, text, by, at, version }) => {
    return { section, value, text, author: by.name, at: isoInstant(at), version };
  }),
  missing_comments: state.missingComments,
  need: state.need,
  approvals: state.approvals.map(({ by, at, reason }) => {
    return { name: by.name, for: by.for?.name ?? null, at: isoInstant(at), reason };
  }),
  delegations: state.delegations.map(({ from, to, by, reason, at, until }) => {
    return { from: from.name, to: to.name, by: by.name, reason, at: isoInstant(at), until: isoInstantOrNull(until) };
  }),
  reviewers: view.reviewers,
  refusal: view.refusal,
  already_delivered: view.delivered,
  can_reject: view.canReject,
  sections: view.sections,
  drafts: view.drafts,
  packs: view.packs,
  files: view.files.map(({ name, bytes }) => {
    return { name, bytes, href: `/api/runs/${record.id}/review/files/${encodeURIComponent(name)}` };
  }),
  history: view.history.map(({ section, value = null, text, by, at }) => {
    return { section, value, text, author: by, at: isoInstant(at) };
  }),
});

/** A comment that was written or withdrawn, in the form that `commentedView` returns. */
export const commentedSchema = z
  .object({
    review: reviewSchema,
    warnings: z
      .array(z.object({ number: z.string().describe('As typed.'), text: z.string() }))
      .readonly()
      .describe('Typed numbers that contradict the figures of the section. The comment is stored anyway.'),
  })
  .meta({ id: 'Commented' });

export const commentedView = (result: { readonly view: ReviewView; readonly warnings: readonly CommentWarning[] }) => ({
  review: reviewView(result.view),
  warnings: result.warnings,
});
