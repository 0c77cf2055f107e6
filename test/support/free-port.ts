import { createServer } from 'node:net';

/** Below the ports that systems give to outgoing connections: one of those could take it before it is listened on. */
const [FIRST, PORTS] = [10_000, 22_000];

/** A TCP port of 127.0.0.1 that nothing listens on, drawn at random: test files that run beside each other do not meet. */
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
