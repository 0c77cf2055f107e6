import { z } from 'zod';
import type { Artifact } from '../../../render/artifact.ts';
import type { Archive, PublishedRun } from '../../archive/archive.ts';
import { archiveCorrupt } from '../../archive/archive-errors.ts';
import type { ReportSummary } from '../report-summary.ts';

const fileSchema = z.object({
  name: z.string(),
  /** Hex. */
  sha256: z.string(),
  /** Slack's id, once the file is uploaded. Nobody sees the file until the message is completed with it. */
  id: z.string().optional(),
});

const messageSchema = z.object({
  channel: z.string(),
  /** Escaped text for screen readers and notifications. */
  text: z.string(),
  /** JSON of the blocks. */
  blocks: z.string(),
  files: z.array(fileSchema),
});
/** A message as the archive keeps it: the posted content, and Slack's ids of its files. */
export type SlackMessage = z.infer<typeof messageSchema>;

/** `&`, `<` and `>` are the only characters that Slack's markup needs escaped. */
const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Plain text, in which Slack interprets no markup, mentions or emoji, so figures and names stay unchanged. */
const plain = (text: string) => ({ type: 'plain_text', text, emoji: false });

/**
 * Makes the message. Slack's limits are 150 characters for a header and 3,000 for a section; the summary stays below
 * both.
 */
export function slackMessage(
  channel: string,
  { title, lines, page }: ReportSummary,
  files: readonly Artifact[],
): SlackMessage {
  const link = page === undefined ? undefined : `<${escapeMarkup(page.url)}|${escapeMarkup(page.label)}>`;
  const blocks = [
    { type: 'header', text: plain(title) },
    { type: 'section', text: plain(lines.join('\n')) },
    ...(link === undefined ? [] : [{ type: 'section', text: { type: 'mrkdwn', text: link } }]),
  ];
  return {
    channel,
    text: [...[title, ...lines].map(escapeMarkup), link ?? []].flat().join('\n'),
    blocks: JSON.stringify(blocks),
    files: files.map(({ name, sha256 }) => ({ name, sha256 })),
  };
}

export const encodeMessage = (message: SlackMessage): Buffer => Buffer.from(JSON.stringify(message));

/** The last attempt's message; undefined if none was archived. Throws `archive.corrupt`. */
export async function archivedMessage(
  archive: Archive,
  published: PublishedRun,
  delivery: string,
): Promise<SlackMessage | undefined> {
  const bytes = await archive.getMessage(published, delivery, 'json');
  if (bytes === undefined) return undefined;
  const { org, report, run } = published.manifest;
  try {
    return messageSchema.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
  } catch {
    throw archiveCorrupt(`${org}/${report}/${run}`, 'its message to Slack cannot be read');
  }
}
