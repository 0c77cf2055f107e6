import { z } from 'zod';
import type { Clock } from '../../../base/clock.ts';
import { DocketError, errorMessage } from '../../../base/error.ts';
import type { AttemptResult } from '../../attempt.ts';
import type { Fence } from '../../internal/fence.ts';
import { preparationResult } from '../post-url.ts';
import type { SlackClient, SlackReply } from './slack-api.ts';
import type { SlackMessage } from './slack-message.ts';

/** Delays between checks of a file: Slack shares it after checks of its own. Half a minute in total. */
const SHARE_DELAYS_MS = [0, 500, 1_000, 2_000, 4_000, 8_000, 15_000] as const;
/** After this, no further check or upload: an attempt must end before it counts as dead. */
const MAX_SHARE_MS = 60_000;
const MAX_UPLOAD_MS = 4 * 60_000;

/** Ids and times are shown and kept, so they must not be texts of any other kind. */
const ticketSchema = z.looseObject({
  upload_url: z.url({ protocol: /^https?$/ }),
  file_id: z.string().regex(/^[A-Za-z0-9]{1,40}$/),
});
const sharesSchema = z.record(z.string(), z.unknown()).optional();
const infoSchema = z.looseObject({
  file: z.looseObject({ shares: z.looseObject({ public: sharesSchema, private: sharesSchema }).optional() }),
});
const postedSchema = z.looseObject({ ts: z.string().regex(/^\d{1,20}\.\d{1,20}$/) });

export interface SlackPost {
  readonly slack: SlackClient;
  readonly message: SlackMessage;
  /** The bytes of the message's files, in order. */
  readonly contents: readonly Uint8Array[];
  /** Archives the message with the ids of its files, so that a later attempt completes the same upload. */
  readonly keep: (message: SlackMessage) => Promise<void>;
  /** Throws `deliver.target_refused` for a host to which uploads may not go. */
  readonly assertUploadUrl: (url: URL) => void;
  readonly clock: Clock;
  readonly fence: Fence | undefined;
}

/** Posts the message, either alone or with its files, which appear at the same time. */
export async function postToSlack(post: SlackPost): Promise<AttemptResult> {
  const { slack, message, contents, fence } = post;
  if (message.files.length === 0) {
    const { channel, text, blocks } = message;
    const fields = { channel, text, blocks, unfurl_links: 'false', unfurl_media: 'false' };
    const reply = await slack.call('chat.postMessage', fields, fence);
    if (reply.kind === 'lost') return uncertain(reply.detail);
    if (reply.kind !== 'ok') return reply.result;
    const posted = postedSchema.safeParse(reply.body).data;
    if (posted === undefined) return uncertain('Slack answers ok, but names no message');
    return { state: 'sent', detail: `Posted as ${posted.ts}.` };
  }
  const empty = message.files.find((_, index) => contents[index]?.length === 0);
  if (empty !== undefined) {
    const detail = `Slack takes no empty files, and ${empty.name} is empty. Write compress: gzip into its output.`;
    return { state: 'refused', detail };
  }
  const known = fileIds(message);
  if (known !== undefined) {
    if ((await findShares(slack, message.channel, known)) === 'shared') return shared(known);
    const again = await share(post, known);
    // Slack discards an upload that stays incomplete for long. Nobody has seen it.
    if (again !== undefined) return again;
  }
  const uploaded = await upload(post);
  if ('state' in uploaded) return uploaded;
  try {
    await post.keep({
      ...message,
      files: message.files.map((file, index) => ({ ...file, id: uploaded[index] ?? '' })),
    });
  } catch (error) {
    return { state: 'pending', detail: `Not posted, its record failed: ${errorMessage(error)}` };
  }
  const detail = 'Nothing was posted: Slack does not find the files that it has just received.';
  return (await share(post, uploaded)) ?? { state: 'pending', detail };
}

/** Slack's ids of the files; undefined until all are uploaded. */
export function fileIds({ files }: SlackMessage): readonly string[] | undefined {
  const ids = files.flatMap(({ id }) => id ?? []);
  return files.length > 0 && ids.length === files.length ? ids : undefined;
}

/** Uploads every file. Nobody can see them yet, so after a failure the delivery is `pending` or `refused`. */
async function upload({
  slack,
  message,
  contents,
  assertUploadUrl,
  clock,
  fence,
}: SlackPost): Promise<readonly string[] | AttemptResult> {
  const ids: string[] = [];
  const begun = clock.now();
  for (const [index, { name }] of message.files.entries()) {
    if (clock.now() - begun > MAX_UPLOAD_MS)
      return { state: 'pending', detail: 'Nothing was posted: the uploads take too long.' };
    const bytes = contents[index] ?? new Uint8Array();
    const reply = await slack.call('files.getUploadURLExternal', { filename: name, length: `${bytes.length}` });
    if (reply.kind !== 'ok') return beforePosting(reply);
    const ticket = ticketSchema.safeParse(reply.body);
    if (!ticket.success) return { state: 'pending', detail: 'Slack named no URL for an upload.' };
    const url = new URL(ticket.data.upload_url);
    try {
      assertUploadUrl(url);
    } catch (error) {
      if (error instanceof DocketError) return preparationResult(error);
      throw error;
    }
    const sent = await slack.upload(url, bytes, fence);
    if (sent.kind !== 'ok') return beforePosting(sent);
    ids.push(ticket.data.file_id);
  }
  const found = await findShares(slack, message.channel, ids);
  // Without this scope nothing could show later that the files were shared.
  if (typeof found === 'object' && isMissingScope(found)) return found.result;
  return ids;
}

const beforePosting = (reply: Failure): AttemptResult =>
  reply.kind === 'lost' ? { state: 'pending', detail: `Nothing was posted: ${reply.detail}` } : reply.result;

/** Makes uploaded files and the message appear in the channel. Undefined if Slack does not know the uploads. */
async function share(post: SlackPost, ids: readonly string[]): Promise<AttemptResult | undefined> {
  const { slack, message, clock, fence } = post;
  const { channel, blocks, files } = message;
  const titled = files.map(({ name }, index) => ({ id: ids[index], title: name }));
  const fields = { files: JSON.stringify(titled), channel_id: channel, blocks };
  const reply = await slack.call('files.completeUploadExternal', fields, fence);
  if (reply.kind === 'refused' && reply.error === 'file_not_found') return undefined;
  if (reply.kind === 'refused' || reply.kind === 'pending') return reply.result;
  // `ok` only means that Slack will share the files. Their shares prove that it has.
  const begun = clock.now();
  let reason = '';
  let notBefore = begun;
  for (const delay of SHARE_DELAYS_MS) {
    const wait = Math.max(delay, notBefore - clock.now());
    if (clock.now() + wait - begun > MAX_SHARE_MS) break;
    if (wait > 0) await clock.sleep(wait);
    const found = await findShares(slack, channel, ids);
    if (found === 'shared') return shared(ids);
    const looked = found === 'unshared' ? undefined : found.kind === 'lost' ? found : found.result;
    reason = looked === undefined ? '' : `. Looking for them: ${looked.detail}`;
    notBefore = (looked !== undefined && 'notBefore' in looked ? looked.notBefore : undefined) ?? begun;
  }
  const why = reply.kind === 'lost' ? reply.detail : 'Slack accepted the files';
  return uncertain(`${why}, but does not show them in the channel (${ids.join(', ')})${reason}`);
}

const shared = (ids: readonly string[]): AttemptResult => ({
  state: 'sent',
  detail: `Shared in the channel as ${ids.join(', ')}.`,
});
const uncertain = (detail: string): AttemptResult => ({
  state: 'unknown',
  detail: `No certain answer after the request had left: ${detail}`,
});

type Failure = Exclude<SlackReply, { kind: 'ok' }>;

export const isMissingScope = (reply: SlackReply): reply is Extract<SlackReply, { kind: 'refused' }> =>
  reply.kind === 'refused' && reply.error === 'missing_scope';

/** Whether the channel has all of these files, or why Slack does not say. */
export async function findShares(
  slack: SlackClient,
  channel: string,
  ids: readonly string[],
): Promise<'shared' | 'unshared' | Failure> {
  for (const file of ids) {
    const reply = await slack.call('files.info', { file });
    if (reply.kind !== 'ok') return reply;
    const shares = infoSchema.safeParse(reply.body).data?.file.shares;
    const channels = [shares?.public, shares?.private].flatMap((each) => Object.keys(each ?? {}));
    if (!channels.includes(channel)) return 'unshared';
  }
  return 'shared';
}
