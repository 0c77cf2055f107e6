// A process with Bull Board over a bare queue. Sends its address when it listens. Forked by bench/admin.mjs.
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serve } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';

const connection = new Redis(process.argv[2], { maxRetriesPerRequest: null });
const serverAdapter = new HonoAdapter(serveStatic);
createBullBoard({ queues: [new BullMQAdapter(new Queue('runs', { connection }))], serverAdapter });
serve({ fetch: serverAdapter.registerPlugin().fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => {
  process.send(`http://127.0.0.1:${port}`);
});
process.once('disconnect', () => process.exit());
