import { serveStatic } from '@hono/node-server/serve-static';
import type { Hono } from 'hono';
import { DocketError } from '../base/error.ts';
import { boardQueues } from '../queue/board.ts';
import type { RedisClient } from '../queue/script.ts';

/** Where Bull Board is served. */
export const BOARD = '/queues';
/** What of it answers with data, to its own script. */
export const BOARD_API = `${BOARD}/api/`;

/** The very versions that are tested; each of their packages wants the others' own version. */
const INSTALL = 'npm i @bull-board/api@9.10.1 @bull-board/hono@9.10.1';

/** Bull Board over our queues, to be looked at: who may is decided in front of it. */
export interface Board {
  readonly app: Hono;
  close(): Promise<void>;
}

const loadPackages = async () => {
  const [{ createBullBoard }, { BullMQAdapter }, { HonoAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/hono'),
  ]);
  return { createBullBoard, BullMQAdapter, HonoAdapter };
};
/** Bull Board's packages, which nobody needs who does not ask for it. */
export type BoardPackages = Awaited<ReturnType<typeof loadPackages>>;

/**
 * Throws `config.invalid` where the packages are not installed.
 *
 * @param redis a producer's client; it stays its owner's to close
 */
export async function openBoard(
  redis: RedisClient,
  { prefix, load = loadPackages }: { readonly prefix: string; readonly load?: () => Promise<BoardPackages> },
): Promise<Board> {
  const { createBullBoard, BullMQAdapter, HonoAdapter } = await load().catch((cause: unknown) => {
    throw new DocketError('config.invalid', 'Bull Board is wanted, and cannot be loaded.', {
      where: 'DOCKET_ADMIN_BULL_BOARD',
      expected: 'the packages @bull-board/api and @bull-board/hono beside Docket',
      got: cause instanceof Error ? (cause.message.split('\n')[0] ?? cause.name) : String(cause),
      next: `Run \`${INSTALL}\` where Docket is installed, or unset DOCKET_ADMIN_BULL_BOARD.`,
      cause,
    });
  });
  const queues = boardQueues(redis, { prefix, Adapter: BullMQAdapter, pageOf: (run) => `/runs/${run}` });
  const served = new HonoAdapter(serveStatic).setBasePath(BOARD);
  createBullBoard({
    queues: [...queues.adapters],
    serverAdapter: served,
    options: {
      uiConfig: {
        boardTitle: 'Docket · queues',
        miscLinks: [{ text: 'Docket', url: '/' }],
        hideDocsLink: true,
        // Our workers keep no such counts, and `/metrics` has them.
        showMetrics: false,
        // A CLIENT LIST each few seconds, which a Redis user of few rights may not ask; `/readyz` counts the workers.
        showWorkers: false,
      },
    },
  });
  // Its own would answer with what was thrown.
  served.setErrorHandler((thrown) => {
    if (thrown instanceof URIError) return { status: 400, body: { error: { key: 'ERRORS.INVALID_QUERY_PARAM' } } };
    throw queues.failure(thrown);
  });
  const app = served.registerPlugin();
  // Otherwise Hono would answer here, before the admin route can.
  app.onError((thrown) => {
    throw thrown;
  });
  return { app, close: queues.close };
}
