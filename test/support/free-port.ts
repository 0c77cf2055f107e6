import { createServer } from 'node:net';

/** Below the ports of outgoing connections, one of which could take the port first. */
const [FIRST, PORTS] = [10_000, 22_000];

/** A free TCP port of 127.0.0.1, drawn at random so that concurrent test files do not collide. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * PORTS);
    if (await isFree(port)) return port;
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
