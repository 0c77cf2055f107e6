import { serveStatic } from '@hono/node-server/serve-static';
import type { Hono } from 'hono';
import { DocketError } from '../base/error.ts';
import { openBullBoardQueues } from '../queue/bull-board.ts';
import type { RedisClient } from '../redis/client.ts';

export const BULL_BOARD_PATH = '/queues';
/** Where its script fetches data. */
export const BULL_BOARD_API_PATH = `${BULL_BOARD_PATH}/api/`;

/** The tested versions. The packages require each other in exactly the same version. */
const INSTALL_COMMAND = 'npm i @bull-board/api@9.10.1 @bull-board/hono@9.10.1 bullmq@6.7.0';

/** Bull Board over Docket's queues, read-only. The caller checks authorization first. */
export interface BullBoard {
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
/** Bull Board's packages, which are optional dependencies. */
export type BullBoardPackages = Awaited<ReturnType<typeof loadPackages>>;

/**
 * Opens Bull Board. Throws `config.invalid` if the packages are not installed.
 *
 * @param redis a producer's client; the caller closes it
 */
export async function openBullBoard(
  redis: RedisClient,
  { prefix, load = loadPackages }: { readonly prefix: string; readonly load?: () => Promise<BullBoardPackages> },
): Promise<BullBoard> {
  const { createBullBoard, BullMQAdapter, HonoAdapter } = await load().catch((cause: unknown) => {
    throw new DocketError('config.invalid', 'Bull Board is enabled but cannot be loaded.', {
      where: 'DOCKET_ADMIN_BULL_BOARD',
      expected: 'the packages @bull-board/api and @bull-board/hono beside Docket',
      got: cause instanceof Error ? (cause.message.split('\n')[0] ?? cause.name) : String(cause),
      next: `Run \`${INSTALL_COMMAND}\` where Docket is installed, or unset DOCKET_ADMIN_BULL_BOARD.`,
      cause,
    });
  });
  const queues = openBullBoardQueues(redis, { prefix, Adapter: BullMQAdapter, pageOf: (run) => `/runs/${run}` });
  const served = new HonoAdapter(serveStatic).setBasePath(BULL_BOARD_PATH);
  createBullBoard({
    queues: [...queues.adapters],
    serverAdapter: served,
    options: {
      uiConfig: {
        boardTitle: 'Docket · queues',
        miscLinks: [{ text: 'Docket', url: '/' }],
        hideDocsLink: true,
        // The workers do not record BullMQ's metrics. Docket has `/metrics`.
        showMetrics: false,
        // This needs CLIENT LIST, which a restricted Redis user may not call.
        showWorkers: false,
      },
    },
  });
  // Its own handler would reveal the error.
  served.setErrorHandler((thrown) => {
    if (thrown instanceof URIError) return { status: 400, body: { error: { key: 'ERRORS.INVALID_QUERY_PARAM' } } };
    throw queues.toRedisError(thrown);
  });
  const app = served.registerPlugin();
  // Otherwise Hono would handle the error here, before the admin app sees it.
  app.onError((thrown) => {
    throw thrown;
  });
  return { app, close: queues.close };
}
