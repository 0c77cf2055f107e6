import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { enter, openConnection, type SmtpOptions, TIMEOUTS } from './smtp-connection.ts';
import type { SmtpServer } from './smtp-url.ts';

/** Who is told what happens on a line; nobody while it is idle. */
interface Listener {
  failed(error: unknown): void;
}

/** One connection to a mail server, for one message after the other. */
export interface Line {
  readonly connection: SMTPConnection;
  /** Messages that it has carried. */
  carried: number;
  /** Hears of the connection's failures from now on. */
  listen(listener: Listener | undefined): void;
  close(): void;
}

/** Ms in which a kept connection must answer, or a new one is opened. */
const PROBE_MS = 5_000;
/** Servers take a connection that brings ever more for abuse. */
const MOST_MESSAGES = 100;

/** A line that is not open yet. Its failures come to the listener once each, whichever of nodemailer's signs comes first. */
export function newLine(server: SmtpServer, options: SmtpOptions): Line {
  const connection = openConnection(server, options);
  let listener: Listener | undefined;
  // The listener stays for good: nodemailer may emit a late `error`, which without a listener ends the process.
  connection.on('error', (error) => listener?.failed(error));
  // A connection that ends without an error: every callback that knows more comes in the same turn.
  connection.once('end', () => setImmediate(() => listener?.failed(new Error('Connection closed unexpectedly'))));
  return {
    connection,
    carried: 0,
    listen: (next) => {
      listener = next;
    },
    close: () => connection.close(),
  };
}

/** Connects and logs in, as `enter` does. */
export const openLine = (line: Line, server: SmtpServer, options: SmtpOptions, then: (error?: Error | null) => void) =>
  enter(line.connection, server, options, then);

export interface Lines {
  /** A line that was kept and is still good; undefined when a new one is to be opened. */
  take(): Promise<Line | undefined>;
  /** Keeps a line whose message was taken for the next one, or lets go of it. */
  keep(line: Line): void;
  close(): void;
}

/**
 * Connections between two messages, kept for a few seconds. As many as send at once, so no message waits for another's.
 * A kept line is asked to reset before it carries the next message: what else the server may have said meanwhile is
 * then never taken for an answer about that message.
 */
export function keptLines(options: SmtpOptions): Lines {
  const idleMs = options.timeouts?.idle ?? TIMEOUTS.idle;
  const idle = new Map<Line, NodeJS.Timeout>();
  let closed = false;
  const drop = (line: Line): void => {
    clearTimeout(idle.get(line));
    idle.delete(line);
    line.close();
  };
  return {
    take: async () => {
      for (;;) {
        const line = [...idle.keys()].at(-1);
        if (line === undefined) return undefined;
        clearTimeout(idle.get(line));
        idle.delete(line);
        if (await answers(line)) return line;
        line.close();
      }
    },
    keep: (line) => {
      line.carried += 1;
      if (closed || line.carried >= MOST_MESSAGES || line.connection.destroyed) return line.close();
      line.listen({ failed: () => drop(line) });
      // A process that has nothing else to do must not stay for it.
      idle.set(line, setTimeout(drop, idleMs, line).unref());
    },
    close: () => {
      closed = true;
      for (const line of [...idle.keys()]) drop(line);
    },
  };
}

const answers = (line: Line): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), PROBE_MS);
    const end = (good: boolean) => {
      clearTimeout(timer);
      resolve(good);
    };
    line.listen({ failed: () => end(false) });
    line.connection.reset((error) => end(!error));
  });
