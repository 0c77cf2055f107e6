import { z } from 'zod';
import { systemClock } from '../../../base/clock.ts';
import { secretRefSchema } from '../../../base/secrets/secret.ts';
import { urlSchema } from '../../../definitions/schema/values/primitives.ts';
import { type Artifact, mailAttachments, outputFormatOf } from '../../../render/artifact.ts';
import { archiveCorrupt } from '../../archive/archive-errors.ts';
import type { SendFn, VerificationResult } from '../../attempt.ts';
import { destinationGuard } from '../../destination-guard.ts';
import { assertUsable, preparationResult, urlDiagnostic } from '../post-url.ts';
import { reportSummary, summaryBodySchema, summaryParts } from '../report-summary.ts';
import {
  type DeliveryContext,
  defineTarget,
  newRow,
  type ProbeContext,
  probeError,
  type TargetProbe,
} from '../target.ts';
import { type SlackClientOptions, slackClient } from './slack-api.ts';
import { archivedMessage, encodeMessage, slackMessage } from './slack-message.ts';
import { fileIds, findShares, isMissingScope, postToSlack } from './slack-post.ts';

const API_URL = 'https://slack.com/api';

const slackSchema = z.strictObject({
  channel: z
    .string()
    .regex(
      /^[CG][A-Z0-9]{8,20}$/,
      "a channel id, C… or G…: in Slack it is at the end of the channel's details; names change, ids do not",
    )
    .describe("The channel's id, C… or G…: at the end of the channel's details in Slack. The app must be a member."),
  token: secretRefSchema.describe('A reference to the bot token, xoxb-….'),
  body: summaryBodySchema,
  files: z
    .boolean()
    .default(false)
    .describe('true: the files of all outputs are uploaded and appear with the message; several CSV files as one ZIP.'),
  api_url: urlSchema(['https:', 'http:'])
    .optional()
    .describe(`URL of the Web API; default ${API_URL}. For GovSlack: https://slack-gov.com/api.`),
});
export type SlackSpec = z.infer<typeof slackSchema>;

const displayName = ({ channel }: Pick<SlackSpec, 'channel'>): string => `Slack channel ${channel}`;
const toApiUrl = ({ api_url = API_URL }: SlackSpec): string => api_url.replace(/\/+$/, '');

/**
 * Posts a summary into a channel, with or without the files.
 *
 * `sent`: Slack has confirmed the message, or shows every file in the channel. `refused`: `ok: false`, and another
 * attempt would have the same result. `pending`: nothing was posted. `unknown`: the last request may have been
 * processed. `verify` looks for the files of an attempt that died: before their ids are archived, nothing can have been
 * posted.
 */
export const slackTarget = defineTarget({
  kind: 'slack',
  label: 'Slack channel',
  audience: { one: 'Slack channel', many: 'Slack channels' },
  messageType: 'json',
  schema: () => slackSchema,
  diagnostics: ({ api_url: url }, { allowPrivate }) => {
    const diagnostic = allowPrivate || url === undefined ? undefined : urlDiagnostic('a Slack target', url);
    return diagnostic === undefined ? [] : [{ path: ['api_url'], ...diagnostic }];
  },
  describe: (spec) => {
    const { hostname } = new URL(toApiUrl(spec));
    const hosts = spec.files && /^slack(?:-gov)?\.com$/.test(hostname) ? [hostname, `files.${hostname}`] : [hostname];
    return {
      addresses: [displayName(spec)],
      shows: { formats: spec.files ? 'all' : [], parts: summaryParts(spec.body) },
      destinations: hosts.map((host) => ({
        path: [spec.api_url === undefined ? 'channel' : 'api_url'],
        host,
        privateReported: true,
      })),
    };
  },
  list: (target, spec, context) => {
    const row = newRow(context.published, target, displayName(spec));
    const verify = () => verifyPosted(row.id, spec, context);
    // Slack limits requests per app and workspace.
    return [{ row, service: `Slack of ${row.org}`, messageId: null, ...(spec.files ? { verify } : {}) }];
  },
  send: async ({ row }, spec, context, previousEpoch) => {
    const { archive, published, clock, secrets } = context;
    const rules = buildRules(context);
    assertUsable(new URL(toApiUrl(spec)), 'Slack target', { ...rules, isSecret: false });
    const files = spec.files ? selectFiles(published.artifacts) : [];
    // An attempt repeats the previous message, and completes the same uploads.
    const archived = previousEpoch > 0 ? await archivedMessage(archive, published, row.id) : undefined;
    const message = archived ?? slackMessage(spec.channel, reportSummary(spec.body, context), files);
    if (message.files.some(({ sha256 }, index) => sha256 !== files[index]?.sha256)) {
      const { org, report, run } = published.manifest;
      throw archiveCorrupt(`${org}/${report}/${run}`, 'its files differ from those that were uploaded to Slack before');
    }
    const contents = await Promise.all(files.map(context.files.bytesOf));
    const send: SendFn = async (signal, fence, recordMessage) => {
      let token: SlackClientOptions['token'];
      try {
        token = await secrets(spec.token);
      } catch (error) {
        return preparationResult(error);
      }
      const { allowPrivate, guard } = rules;
      const options = { allowPrivate, findProxy: guard.findProxy };
      return postToSlack({
        slack: slackClient({ apiUrl: toApiUrl(spec), token, secrets, options, signal, clock }),
        message,
        contents,
        keep: async (kept) => recordMessage?.(await archive.putMessage(published, row.id, encodeMessage(kept), 'json')),
        assertUploadUrl: (url) => assertUsable(url, 'upload to Slack', { ...rules, isSecret: false }),
        clock,
        fence,
      });
    };
    return Object.assign(send, {
      message: await archive.putMessage(published, row.id, encodeMessage(message), 'json'),
    });
  },
  probe: (spec, context) => probeSlack(spec, context),
});

const buildRules = ({ settings, destinations }: Pick<DeliveryContext, 'settings' | 'destinations'>) => ({
  allowPrivate: settings.allow_private === true,
  guard: destinationGuard(settings, destinations),
});

/** The files of all outputs, as an e-mail would attach them. */
const selectFiles = (artifacts: readonly Artifact[]): readonly Artifact[] =>
  mailAttachments(artifacts, [...new Set(artifacts.map(outputFormatOf))]);

async function verifyPosted(delivery: string, spec: SlackSpec, context: DeliveryContext): Promise<VerificationResult> {
  const { archive, published, secrets, clock } = context;
  const message = await archivedMessage(archive, published, delivery);
  if (message === undefined) return 'unknown';
  const ids = fileIds(message);
  if (ids === undefined) return message.files.length === 0 ? 'unknown' : 'unsent';
  const { allowPrivate, guard } = buildRules(context);
  guard.assertHost(new URL(toApiUrl(spec)).hostname);
  const slack = slackClient({
    apiUrl: toApiUrl(spec),
    token: await secrets(spec.token),
    secrets,
    options: { allowPrivate, findProxy: guard.findProxy },
    signal: new AbortController().signal,
    clock,
  });
  return (await findShares(slack, message.channel, ids)) === 'shared' ? 'sent' : 'unknown';
}

const channelSchema = z.looseObject({
  channel: z.looseObject({ is_archived: z.boolean().optional(), is_member: z.boolean().optional() }),
});

/** Requests the channel with the app's token, and posts nothing. */
function probeSlack(spec: SlackSpec, { secrets, allowPrivate, guard }: ProbeContext): TargetProbe {
  const name = displayName(spec);
  return {
    name,
    probe: async () => {
      const apiUrl = toApiUrl(spec);
      assertUsable(new URL(apiUrl), 'Slack target', { allowPrivate, guard, isSecret: false });
      const slack = slackClient({
        apiUrl,
        token: await secrets(spec.token),
        secrets,
        options: { allowPrivate, findProxy: guard.findProxy },
        signal: new AbortController().signal,
        clock: systemClock,
      });
      const info = await slack.call('conversations.info', { channel: spec.channel });
      // Slack checks the scope before it looks for the file, which does not exist.
      const file = spec.files && info.kind === 'ok' ? await slack.call('files.info', { file: 'F00000000' }) : info;
      const reply = isMissingScope(file) ? file : info;
      if (reply.kind !== 'ok') {
        throw probeError(
          `The ${name}`,
          reply.kind === 'lost' ? reply.detail : reply.result.detail,
          'Follow the how-to.',
        );
      }
      const { channel } = channelSchema.safeParse(reply.body).data ?? {};
      if (channel?.is_archived === true)
        throw probeError(`The ${name}`, 'an archived channel', 'Unarchive it, or name another channel.');
      if (channel?.is_member !== true)
        throw probeError(`The ${name}`, 'a channel that the app is not in', 'Invite it: /invite @<app>.');
      return `${name} has the app as a member; nothing was posted`;
    },
  };
}
