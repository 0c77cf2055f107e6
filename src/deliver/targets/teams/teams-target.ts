import { z } from 'zod';
import { errorMessage } from '../../../base/error.ts';
import { parseRetryAfter } from '../../../base/net/retry-after.ts';
import { secretRefSchema } from '../../../base/secrets/secret.ts';
import type { AttemptResult, SendFn } from '../../attempt.ts';
import { destinationGuard } from '../../destination-guard.ts';
import { guardedPost, type PostResult, probeConnection } from '../guarded-post.ts';
import { assertUsable, preparationResult, readPostUrl, urlRedactor } from '../post-url.ts';
import { type ReportSummary, reportSummary, summaryBodySchema, summaryParts } from '../report-summary.ts';
import { defineTarget, newRow, type ProbeContext, probeError, type TargetProbe } from '../target.ts';

const teamsSchema = z.strictObject({
  url: secretRefSchema.describe(
    "A reference to the URL of the channel's workflow (`When a Teams webhook request is received`). Whoever has it can post.",
  ),
  body: summaryBodySchema,
});
export type TeamsSpec = z.infer<typeof teamsSchema>;

/** The URL is secret, so its reference is shown instead. */
const displayName = ({ url }: Pick<TeamsSpec, 'url'>): string =>
  `Teams workflow of ${'env' in url ? url.env : url.file}`;

/** A flow answers or fails within two minutes. A later response never comes. */
const TIMEOUTS = { connect: 5_000, answer: 130_000 };

/**
 * Posts a summary as an Adaptive Card to a Teams workflow, which posts it into its channel.
 *
 * `sent`: the workflow has answered 2xx. Only a 200 means that the card is in the channel, if the workflow answers
 * after posting; others answer 202 at once, and the detail says so. `refused`: a 4xx, e.g. from a deleted workflow.
 * `pending`: not connected, or 429. `unknown`: no response, a web page instead of one, or a 5xx, which a workflow can
 * also return if it fails after posting.
 */
export const teamsTarget = defineTarget({
  kind: 'teams',
  label: 'Teams channel',
  audience: { one: 'Teams channel', many: 'Teams channels' },
  messageType: 'json',
  schema: () => teamsSchema,
  diagnostics: () => [],
  // The host is secret, so it is checked at delivery.
  describe: (spec) => ({ addresses: [displayName(spec)], shows: { formats: [], parts: summaryParts(spec.body) } }),
  list: (target, spec, { published }) => {
    const name = displayName(spec);
    const row = newRow(published, target, name);
    return [{ row, service: `${name} of ${row.org}`, messageId: null }];
  },
  send: async ({ row }, spec, context, previousEpoch) => {
    const { archive, published, clock, secrets, settings, destinations } = context;
    // An attempt repeats the previous message.
    const archived = previousEpoch > 0 ? await archive.getMessage(published, row.id, 'json') : undefined;
    const body = archived ?? Buffer.from(teamsMessage(reportSummary(spec.body, context)));
    const allowPrivate = settings.allow_private === true;
    const guard = destinationGuard(settings, destinations);
    const send: SendFn = async (signal, fence) => {
      let url: URL;
      try {
        url = await readPostUrl({ url: spec.url, name: displayName(spec) }, secrets);
        assertUsable(url, 'Teams workflow', { allowPrivate, guard, isSecret: true });
      } catch (error) {
        return preparationResult(error);
      }
      const headers = { 'content-type': 'application/json', 'user-agent': 'docket' };
      const posted = await guardedPost(url, headers, body, {
        allowPrivate,
        findProxy: guard.findProxy,
        redact: urlRedactor(url, true, secrets),
        timeouts: TIMEOUTS,
        signal,
        fence,
      });
      return toAttemptResult(posted, clock.now());
    };
    return Object.assign(send, { message: await archive.putMessage(published, row.id, body, 'json') });
  },
  probe: (spec, context) => probeTeams(spec, context),
});

/**
 * Makes the card. Microsoft limits a whole message to 28 KB; the ten lines of a summary stay below 12. The texts are
 * text runs, in which Teams interprets no markup, so names with * or _ stay unchanged.
 */
export function teamsMessage({ title, lines, page }: ReportSummary): string {
  const block = (text: string, style: Readonly<Record<string, unknown>> = {}) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, ...style }],
  });
  return JSON.stringify({
    type: 'message',
    summary: title,
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          speak: title,
          msteams: { width: 'Full' },
          body: [block(title, { weight: 'Bolder', size: 'Large' }), ...lines.map((line) => block(line))],
          ...(page === undefined ? {} : { actions: [{ type: 'Action.OpenUrl', title: page.label, url: page.url }] }),
        },
      },
    ],
  });
}

function toAttemptResult(posted: PostResult, now: number): AttemptResult {
  if (posted.kind === 'withheld') return { state: 'pending', detail: posted.reason };
  if (posted.kind === 'lost')
    return { state: 'unknown', detail: `No certain answer after the request had left: ${posted.reason}` };
  if (posted.kind === 'unsent') {
    if (posted.forbidden) return { state: 'refused', detail: posted.reason };
    return { state: 'pending', detail: `Not connected: ${posted.reason}`, targetDown: true };
  }
  const { status, text, raw } = posted;
  // A filter or a sign-in page answers 200, too.
  if (status >= 200 && status < 300 && /^\s*<(?:!doctype|html)/i.test(raw))
    return { state: 'unknown', detail: `HTTP ${status} with a web page, which no workflow answers: ${text}` };
  if (status === 200) return { state: 'sent', detail: 'Posted by the workflow (HTTP 200).' };
  if (status > 200 && status < 300) {
    const detail = `Accepted by the workflow (HTTP ${status}). It does not say whether the card is in the channel.`;
    return { state: 'sent', detail };
  }
  const detail = `HTTP ${status}${text === '' ? '' : ` ${text}`}`;
  if (status === 429) {
    const wait = parseRetryAfter(posted.retryAfter, posted.date, now) ?? 0;
    return { state: 'pending', detail, ...(wait > 0 ? { notBefore: now + wait } : {}) };
  }
  if (status === 408 || status >= 500) return { state: 'unknown', detail: `${detail}: the workflow may have posted` };
  return { state: 'refused', detail: status < 400 ? `${detail} (redirects are not followed)` : detail };
}

/** Checks connection, certificate and address, without a request: any request would post. */
function probeTeams(spec: TeamsSpec, { secrets, allowPrivate, guard }: ProbeContext): TargetProbe {
  const name = displayName(spec);
  return {
    name,
    probe: async () => {
      const url = await readPostUrl({ url: spec.url, name }, secrets);
      assertUsable(url, 'Teams workflow', { allowPrivate, guard, isSecret: true });
      const { findProxy } = guard;
      try {
        await probeConnection(url, { allowPrivate, findProxy, redact: urlRedactor(url, true, secrets) });
      } catch (error) {
        throw probeError(`The ${name}`, errorMessage(error), 'Copy the URL of the workflow again.');
      }
      return `${name} can be reached; nothing was posted`;
    },
  };
}
