import { connect, createServer, type Socket } from 'node:net';
import { z } from 'zod';

/** What is to happen with a piece of bytes that a client sends: it goes on, or it and all after it on its connection is lost. */
export type Passage = 'on' | 'lost';

/** Which way bytes go: from clients to the server, back, or both. */
export type Direction = 'requests' | 'replies' | 'both';

/** A way over the network, from clients to one server, that can be cut and slowed. */
export interface Way {
  readonly port: number;
  /** From now on nothing passes in this direction, and nobody is told: what is sent waits, as in a network that drops packets. */
  cut(direction?: Direction): void;
  /** All that waits arrives. */
  heal(): void;
  /** Breaks every connection off. */
  reset(): void;
  /** Each piece that a client sends from now on is so long on its way, ms. Replies are not. */
  slow(ms: number): void;
  /** Told of each piece that a client sends, as it comes; undefined: nobody is. */
  watch(watcher: ((piece: Buffer) => Passage) | undefined): void;
  close(): Promise<void>;
}

export async function wayTo(port: number, host = '127.0.0.1'): Promise<Way> {
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  let cut: Direction | undefined;
  let delayMs = 0;
  let watcher: ((piece: Buffer) => Passage) | undefined;
  const pass = (direction: Direction, act: () => void) => {
    if (cut === 'both' || cut === direction) held.push(act);
    else act();
  };
  const join = (from: Socket, to: Socket, direction: 'requests' | 'replies') => {
    const slowed = direction === 'requests';
    let arrival = 0;
    let lost = false;
    const later = (act: () => void) => {
      const now = Date.now();
      // In order: what is sent later does not overtake.
      arrival = Math.max(arrival, now + (slowed ? delayMs : 0));
      if (arrival <= now) pass(direction, act);
      else setTimeout(() => pass(direction, act), arrival - now);
    };
    from.on('data', (piece: Buffer) => {
      if (slowed && !lost && watcher?.(piece) === 'lost') lost = true;
      if (!lost) later(() => void to.write(piece));
    });
    from.on('end', () => later(() => to.end()));
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      // As a broken connection is on the other side too, once the word of it gets there.
      later(() => to.destroy());
    });
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const inside = connect({ port, host, allowHalfOpen: true });
    for (const socket of [client, inside]) {
      socket.setNoDelay(true);
      sockets.add(socket);
    }
    join(client, inside, 'requests');
    join(inside, client, 'replies');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: own } = z.object({ port: z.number() }).parse(server.address());
  const heal = () => {
    cut = undefined;
    for (const act of held.splice(0)) act();
  };
  const reset = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: own,
    cut: (direction = 'both') => {
      cut = direction;
    },
    heal,
    reset,
    slow: (ms) => {
      delayMs = ms;
    },
    watch: (next) => {
      watcher = next;
    },
    close: async () => {
      heal();
      reset();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
