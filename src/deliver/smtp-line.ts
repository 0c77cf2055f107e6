import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { connectAndAuthenticate, openConnection, SMTP_TIMEOUTS_MS, type SmtpOptions } from './smtp-connection.ts';
import type { SmtpServer } from './smtp-url.ts';

/** Who is told what happens on a line; nobody while it is idle. */
interface SessionListener {
  failed(error: unknown): void;
}

/** One connection to a mail server, for one message after the other. */
export interface SmtpSession {
  readonly connection: SMTPConnection;
  /** Messages that it has carried. */
  messageCount: number;
  /** Hears of the connection's failures from now on. */
  setListener(listener: SessionListener | undefined): void;
  close(): void;
}

/** Ms in which a kept connection must answer, or a new one is opened. */
const RESET_TIMEOUT_MS = 5_000;
/** Servers take a connection that brings ever more for abuse. */
const MAX_MESSAGES_PER_CONNECTION = 100;

/** A line that is not open yet. Its failures come to the listener once each, whichever of nodemailer's signs comes first. */
export function createSmtpSession(server: SmtpServer, options: SmtpOptions): SmtpSession {
  const connection = openConnection(server, options);
  let listener: SessionListener | undefined;
  // The listener stays for good: nodemailer may emit a late `error`, which without a listener ends the process.
  connection.on('error', (error) => listener?.failed(error));
  // A connection that ends without an error: every callback that knows more comes in the same turn.
  connection.once('end', () => setImmediate(() => listener?.failed(new Error('Connection closed unexpectedly'))));
  return {
    connection,
    messageCount: 0,
    setListener: (next) => {
      listener = next;
    },
    close: () => connection.close(),
  };
}

/** Connects and logs in, as `enter` does. */
export const openSmtpSession = (
  line: SmtpSession,
  server: SmtpServer,
  options: SmtpOptions,
  then: (error?: Error | null) => void,
) => connectAndAuthenticate(line.connection, server, options, then);

export interface SmtpPool {
  /** A line that was kept and is still good; undefined when a new one is to be opened. */
  acquire(): Promise<SmtpSession | undefined>;
  /** Keeps a line whose message was taken for the next one, or lets go of it. */
  release(line: SmtpSession): void;
  close(): void;
}

/**
 * Connections between two messages, kept for a few seconds. As many as send at once, so no message waits for another's.
 * A kept line is asked to reset before it carries the next message: what else the server may have said meanwhile is
 * then never taken for an answer about that message.
 */
export function smtpPool(options: SmtpOptions): SmtpPool {
  const idleMs = options.timeouts?.idle ?? SMTP_TIMEOUTS_MS.idle;
  const idle = new Map<SmtpSession, NodeJS.Timeout>();
  let closed = false;
  const drop = (line: SmtpSession): void => {
    clearTimeout(idle.get(line));
    idle.delete(line);
    line.close();
  };
  return {
    acquire: async () => {
      for (;;) {
        const line = [...idle.keys()].at(-1);
        if (line === undefined) return undefined;
        clearTimeout(idle.get(line));
        idle.delete(line);
        if (await isAlive(line)) return line;
        line.close();
      }
    },
    release: (line) => {
      line.messageCount += 1;
      if (closed || line.messageCount >= MAX_MESSAGES_PER_CONNECTION || line.connection.destroyed) return line.close();
      line.setListener({ failed: () => drop(line) });
      // A process that has nothing else to do must not stay for it.
      idle.set(line, setTimeout(drop, idleMs, line).unref());
    },
    close: () => {
      closed = true;
      for (const line of [...idle.keys()]) drop(line);
    },
  };
}

const isAlive = (line: SmtpSession): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), RESET_TIMEOUT_MS);
    const end = (good: boolean) => {
      clearTimeout(timer);
      resolve(good);
    };
    line.setListener({ failed: () => end(false) });
    line.connection.reset((error) => end(!error));
  });
