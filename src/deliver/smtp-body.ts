import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Fence } from './fence.ts';

const CHUNK = 64 * 1024;

/** nodemailer's stream that stuffs dots and hands on to the socket. */
type Encoder = NodeJS.WritableStream & Partial<Pick<Readable, 'readableLength'>>;

export interface BodySteps {
  readonly fence: Fence;
  /** The connection to the server, as it is by then. */
  readonly socket: () => Pick<Socket, 'write'> | false | null;
  /** Whether the conversation has ended meanwhile: then nothing more is written. */
  readonly isOver: () => boolean;
  /** Told right before the final dot leaves. */
  readonly ends: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * A message as nodemailer takes it. nodemailer pipes it once the server has let the body through (354). Nothing is written
 * before the fence has confirmed it, and the final dot is a write of its own, made when all before it has left this process
 * and was confirmed once more: what a frozen process wakes up with can then not end a message.
 */
export function messageBody(raw: Uint8Array, steps: BodySteps): Readable {
  const body = new Readable({ read: () => {} });
  const pipe = <T extends NodeJS.WritableStream>(to: T): T => {
    writeBody(raw, to, steps).catch(steps.failed);
    return to;
  };
  return Object.assign(body, { pipe });
}

/** @param to encodes what it is given and hands it to the socket; its end is the final dot */
async function writeBody(raw: Uint8Array, to: Encoder, { fence, socket, isOver, ends }: BodySteps): Promise<void> {
  await fence.confirm();
  for (let at = 0; at < raw.length; at += CHUNK) {
    await fence.pass();
    if (isOver()) return;
    await new Promise<void>((resolve) => to.write(raw.subarray(at, at + CHUNK), () => resolve()));
    await flushed(to, socket(), isOver);
  }
  await fence.confirm();
  if (isOver()) return;
  ends();
  to.end();
}

/** Resolves when the operating system has everything that was handed to the encoder, or the conversation has ended. */
async function flushed(to: Encoder, socket: ReturnType<BodySteps['socket']>, isOver: () => boolean): Promise<void> {
  do {
    // The encoder hands on in a later turn; an empty write is answered when all before it is done.
    await setImmediate();
    if (isOver() || !socket) return;
    await new Promise<void>((resolve) => socket.write('', () => resolve()));
  } while ((to.readableLength ?? 0) > 0);
}
