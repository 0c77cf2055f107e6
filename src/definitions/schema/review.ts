import { z } from 'zod';
import { durationSchema } from './values/durations.ts';
import { lineSchema, printedLineSchema } from './values/primitives.ts';

/** Names a person: a key of `people` in org.yaml, the name of a token, or an account. */
const reviewerSchema = lineSchema(200);

/** The most business days that approvers may take. */
const MAX_WITHIN_DAYS = 60;
const WITHIN_DESCRIPTION = `a number of business days from 1bd to ${MAX_WITHIN_DAYS}bd`;
/** Parsed to a number of business days in the organization's calendar. */
const withinSchema = z.union(
  [
    z
      .string()
      .regex(/^[0-9]{1,2}bd$/, WITHIN_DESCRIPTION)
      .transform((text) => Number.parseInt(text, 10))
      .pipe(z.int().min(1, WITHIN_DESCRIPTION).max(MAX_WITHIN_DAYS, WITHIN_DESCRIPTION)),
    // Stored values are already parsed.
    z.int().min(1, WITHIN_DESCRIPTION).max(MAX_WITHIN_DAYS, WITHIN_DESCRIPTION),
  ],
  { error: WITHIN_DESCRIPTION },
);

/** Nothing is delivered until enough people have approved exactly this content. */
export const approvalSchema = z.strictObject({
  by: z
    .array(reviewerSchema)
    .min(1)
    .max(50)
    .describe('Who may approve: keys of `people` in org.yaml, names of tokens, or accounts of the sign-in.'),
  need: z.int().min(1).max(50).default(1).describe('How many different people must approve.'),
  four_eyes: z
    .boolean()
    .default(true)
    .describe('The person who triggered the run, and the authors of texts printed in it, cannot approve it.'),
  may_delegate: z
    .array(reviewerSchema)
    .min(1)
    .max(50)
    .optional()
    .describe('Who may name a deputy for an approver, besides the approver; the same forms as in `by`.'),
  within: withinSchema
    .optional()
    .describe("Business days of the organization's calendar that approvers have, e.g. 2bd. Default: no limit."),
  otherwise: z
    .enum(['hold', 'cancel'])
    .default('hold')
    .describe('What happens after `within`: hold the run and remind the approvers, or cancel it.'),
});
export type ApprovalSpec = Readonly<z.infer<typeof approvalSchema>>;

const COMMENTARY_TRIGGERS = ['watch', 'breached'] as const;

/** Whether a section may have, or must have, a comment for the period before the report is delivered. */
export const commentarySchema = z
  .union(
    [
      z.enum(['required', 'optional']).transform((text) => ({ required: text === 'required' })),
      z.strictObject({
        required: z.boolean().optional().describe('true: the run is held until the section has a comment.'),
        required_if: z
          .enum(COMMENTARY_TRIGGERS)
          .optional()
          .describe('The run is held only if a figure of the section has this status, or a worse one.'),
        carry: z
          .boolean()
          .optional()
          .describe("true: offers the last period's comment as a draft; it is never printed for this period."),
      }),
    ],
    { error: 'required, optional, or { required, required_if, carry }' },
  )
  .describe(
    "required: the run is held until the section has a comment. required_if: breached (or watch) only where a figure of the section has that status. carry: offers the last period's comment as a draft.",
  );
export type CommentarySpec = Readonly<z.infer<typeof commentarySchema>>;

const DAY_S = 86_400;
const PERCENT = /^(\d{1,3}(?:\.\d{1,4})?)%$/;
const MATERIALITY_DESCRIPTION = 'a percentage from 0% to 100%, e.g. 1%';

/** Figures of delivered periods are requested again, and a material difference becomes a correction. */
export const correctionsSchema = z.strictObject({
  watch: durationSchema('a duration from 1d to 400d', DAY_S, 400 * DAY_S).describe(
    'How long after its delivery an edition is watched, e.g. 35d.',
  ),
  materiality: z
    .union(
      [
        z
          .string()
          .regex(PERCENT, MATERIALITY_DESCRIPTION)
          .transform((text) => Number(text.slice(0, -1)) / 100)
          .pipe(z.number().min(0).max(1, MATERIALITY_DESCRIPTION)),
        z.number().min(0).max(1, MATERIALITY_DESCRIPTION),
      ],
      { error: MATERIALITY_DESCRIPTION },
    )
    .describe(
      'Smallest difference that is a correction: relative for counts and durations, percentage points for ratios.',
    ),
  on_correction: z
    .enum(['notify_owner', 'send'])
    .default('notify_owner')
    .describe('notify_owner: a person decides. send: a corrected edition is sent to those who got the first one.'),
});
export type CorrectionsSpec = Readonly<z.infer<typeof correctionsSchema>>;

/** The people of an organization, with their tokens and accounts, so that one person counts once. */
export const peopleSchema = z
  .record(
    z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'a short name such as mlro'),
    z.strictObject({
      name: printedLineSchema(200).optional().describe('Printed in packs; defaults to the key.'),
      email: z.email('an e-mail address').optional().describe('Where notices go.'),
      tokens: z.array(lineSchema(200)).max(20).default([]).describe('Names of tokens.'),
      accounts: z
        .array(lineSchema(320))
        .max(20)
        .default([])
        .describe('Accounts of the sign-in: the verified e-mail address, or the subject.'),
    }),
  )
  .describe('Who signs in with which tokens and accounts, for approvals.');
export type People = Readonly<z.infer<typeof peopleSchema>>;
