import { connect, createServer, type Socket } from 'node:net';
import { z } from 'zod';

/** What to do with bytes from a client: forward them, or drop them and all later ones of the connection. */
export type ProxyAction = 'forward' | 'drop';

/** From clients to the server, from the server to clients, or both. */
export type Direction = 'requests' | 'replies' | 'both';

/** A TCP proxy in front of one server, with network faults. */
export interface NetworkProxy {
  readonly port: number;
  /** Holds back all bytes in this direction without closing connections, as a network that drops packets. */
  cut(direction?: Direction): void;
  /** Forwards all bytes that were held back, and lets later ones pass. */
  heal(): void;
  /** Destroys all connections. */
  reset(): void;
  /** Delay of bytes from clients, ms. Replies are not delayed. */
  slow(ms: number): void;
  /** Called with all bytes from clients; undefined removes the watcher. */
  watch(watcher: ((bytes: Buffer) => ProxyAction) | undefined): void;
  close(): Promise<void>;
}

export async function startProxy(port: number, host = '127.0.0.1'): Promise<NetworkProxy> {
  const sockets = new Set<Socket>();
  const pending: (() => void)[] = [];
  let cut: Direction | undefined;
  let delayMs = 0;
  let watcher: ((bytes: Buffer) => ProxyAction) | undefined;
  const pass = (direction: Direction, act: () => void) => {
    if (cut === 'both' || cut === direction) pending.push(act);
    else act();
  };
  const join = (from: Socket, to: Socket, direction: 'requests' | 'replies') => {
    const slowed = direction === 'requests';
    let arrival = 0;
    let dropped = false;
    const later = (act: () => void) => {
      const now = Date.now();
      // Bytes keep their order when the delay gets shorter.
      arrival = Math.max(arrival, now + (slowed ? delayMs : 0));
      if (arrival <= now) pass(direction, act);
      else setTimeout(() => pass(direction, act), arrival - now);
    };
    from.on('data', (bytes: Buffer) => {
      if (slowed && !dropped && watcher?.(bytes) === 'drop') dropped = true;
      if (!dropped) later(() => void to.write(bytes));
    });
    from.on('end', () => later(() => to.end()));
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      // The other side is closed after the delay.
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
    for (const act of pending.splice(0)) act();
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
