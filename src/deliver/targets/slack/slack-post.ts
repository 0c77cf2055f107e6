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

const ticketSchema = z.looseObject({ upload_url: z.url(), file_id: z.string() });
const sharesSchema = z.record(z.string(), z.unknown()).optional();
const infoSchema = z.looseObject({
  file: z.looseObject({ shares: z.looseObject({ public: sharesSchema, private: sharesSchema }).optional() }),
});
const postedSchema = z.looseObject({ ts: z.string() });

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
  const { slack, message, fence } = post;
  if (message.files.length === 0) {
    const { channel, text, blocks } = message;
    const fields = { channel, text, blocks, unfurl_links: 'false', unfurl_media: 'false' };
    const reply = await slack.call('chat.postMessage', fields, fence);
    if (reply.kind === 'lost') return uncertain(reply.detail);
    if (reply.kind !== 'ok') return reply.result;
    const { ts } = postedSchema.safeParse(reply.body).data ?? {};
    return { state: 'sent', detail: `Posted${ts === undefined ? '' : ` as ${ts}`}.` };
  }
  const known = fileIds(message);
  if (known !== undefined) {
    if ((await findShares(slack, message.channel, known)) === 'shared') return shared(known);
    const again = await complete(post, known);
    // Slack discards an upload that stays incomplete for long. Nobody has seen it.
    if (again.kind !== 'refused' || again.error !== 'file_not_found') return settle(post, again, known);
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
  return settle(post, await complete(post, uploaded), uploaded);
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
  return ids;
}

const beforePosting = (reply: Exclude<SlackReply, { kind: 'ok' }>): AttemptResult =>
  reply.kind === 'lost' ? { state: 'pending', detail: `Nothing was posted: ${reply.detail}` } : reply.result;

/** Makes the files and the message appear in the channel. */
const complete = ({ slack, message, fence }: SlackPost, ids: readonly string[]): Promise<SlackReply> => {
  const { channel, blocks, files } = message;
  const titled = files.map(({ name }, index) => ({ id: ids[index], title: name }));
  const fields = { files: JSON.stringify(titled), channel_id: channel, blocks };
  return slack.call('files.completeUploadExternal', fields, fence);
};

/** `ok` only means that Slack will share the files. Their shares prove that it has. */
async function settle(post: SlackPost, reply: SlackReply, ids: readonly string[]): Promise<AttemptResult> {
  if (reply.kind === 'refused' || reply.kind === 'pending') return reply.result;
  const begun = post.clock.now();
  for (const delay of SHARE_DELAYS_MS) {
    if (post.clock.now() - begun > MAX_SHARE_MS) break;
    if (delay > 0) await post.clock.sleep(delay);
    if ((await findShares(post.slack, post.message.channel, ids)) === 'shared') return shared(ids);
  }
  const why = reply.kind === 'lost' ? reply.detail : 'Slack accepted the files';
  return uncertain(`${why}, but does not show them in the channel (${ids.join(', ')})`);
}

const shared = (ids: readonly string[]): AttemptResult => ({
  state: 'sent',
  detail: `Shared in the channel as ${ids.join(', ')}.`,
});
const uncertain = (detail: string): AttemptResult => ({
  state: 'unknown',
  detail: `No certain answer after the request had left: ${detail}`,
});

/** Whether the channel has all of these files. `unknown` if Slack does not say. */
export async function findShares(
  slack: SlackClient,
  channel: string,
  ids: readonly string[],
): Promise<'shared' | 'unknown'> {
  for (const file of ids) {
    const reply = await slack.call('files.info', { file });
    const shares = reply.kind === 'ok' ? infoSchema.safeParse(reply.body).data?.file.shares : undefined;
    const channels = [shares?.public, shares?.private].flatMap((each) => Object.keys(each ?? {}));
    if (!channels.includes(channel)) return 'unknown';
  }
  return 'shared';
}
