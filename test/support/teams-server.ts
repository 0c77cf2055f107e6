import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const textRun = z.strictObject({
  type: z.literal('TextRun'),
  text: z.string(),
  weight: z.literal('Bolder').optional(),
  size: z.literal('Large').optional(),
});
/** The parts of an Adaptive Card that Docket uses, of adaptivecards.io/schemas/adaptive-card.json 1.4. */
const cardSchema = z.strictObject({
  $schema: z.literal('http://adaptivecards.io/schemas/adaptive-card.json'),
  type: z.literal('AdaptiveCard'),
  version: z.literal('1.4'),
  speak: z.string(),
  msteams: z.strictObject({ width: z.literal('Full') }),
  body: z.array(z.strictObject({ type: z.literal('RichTextBlock'), inlines: z.array(textRun).min(1) })).min(1),
  actions: z.array(z.strictObject({ type: z.literal('Action.OpenUrl'), title: z.string(), url: z.url() })).optional(),
});
const messageSchema = z.strictObject({
  type: z.literal('message'),
  summary: z.string(),
  attachments: z.tuple([
    z.strictObject({
      contentType: z.literal('application/vnd.microsoft.card.adaptive'),
      contentUrl: z.null(),
      content: cardSchema,
    }),
  ]),
});

/** `cut`: closes the connection without a response. `posts`: whether the card then appears in the channel. */
export interface FlowAnswer {
  readonly status: number | 'cut';
  readonly posts: boolean;
  /** The body of the response. Default: empty, and in an error the path, which a proxy on the way may repeat. */
  readonly text?: string;
}

/** "The message size limit is about 28 KB" (learn.microsoft.com/connectors/teams, known issues of posting actions). */
const MAX_MESSAGE_BYTES = 28 * 1024;

/**
 * A workflow of Teams. It accepts the form of
 * learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook (a message with one
 * Adaptive Card in `attachments`) at a URL with a signature in its query. It answers 202 before it runs, or with its action
 * `Response` after it has run (learn.microsoft.com/azure/connectors/connectors-native-reqres). A deleted or disabled
 * workflow answers 404 or 400.
 */
export async function teamsServer() {
  const secret = 'dGhpc0lzVGhlU2lnbmF0dXJl';
  const posted: z.infer<typeof cardSchema>[] = [];
  const sizes: number[] = [];
  let answer: FlowAnswer = { status: 202, posts: true };
  let onRequest: (when: 'before' | 'after') => 'drop' | undefined = () => undefined;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    sizes.push(body.length);
    if (onRequest('before') === 'drop') {
      response.socket?.destroy();
      return;
    }
    const message = messageSchema.safeParse(JSON.parse(body.toString('utf8')));
    const [attachment] = message.data?.attachments ?? [];
    const isTaken = attachment !== undefined && body.length <= MAX_MESSAGE_BYTES;
    if (isTaken && answer.posts) posted.push(attachment.content);
    onRequest('after');
    if (answer.status === 'cut') response.socket?.destroy();
    else if (!isTaken) response.writeHead(400).end(JSON.stringify(message.error?.issues ?? 'Request Entity too large'));
    else {
      const { status, text = status >= 300 ? `{"error":"${request.url}"}` : '' } = answer;
      response.writeHead(answer.status).end(text);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/workflows/a1b2c3/triggers/manual/paths/invoke?sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=${secret}`,
    secret,
    /** The cards that people see. */
    posted,
    /** The size of each request in bytes. */
    sizes,
    answer: (next: FlowAnswer): void => {
      answer = next;
    },
    /** Called before the workflow runs, where `drop` loses the request, and after it, before the response. */
    watch: (watcher: typeof onRequest): void => {
      onRequest = watcher;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
