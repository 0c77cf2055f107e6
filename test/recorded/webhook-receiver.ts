import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { z } from 'zod';

const bodySchema = z.object({ data: z.object({ run: z.string() }) });

/** Accepts every webhook and keeps the id of its run. */
export async function webhookReceiver() {
  const runs: string[] = [];
  const server = createServer(async (request, response) => {
    runs.push(bodySchema.parse(await json(request)).data.run);
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return {
    url: `http://127.0.0.1:${port}/hook`,
    runs: (): readonly string[] => [...runs],
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
