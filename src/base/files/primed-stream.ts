import { Readable } from 'node:stream';

/**
 * The chunks as a stream whose first chunk is read: what fails before it fails here, and not in the middle of a response.
 * Destroying the stream closes the generator, also where nothing was read from it.
 */
export async function primedStream(chunks: AsyncGenerator<Uint8Array, void>): Promise<Readable> {
  let first: Promise<IteratorResult<Uint8Array, void>> | undefined = Promise.resolve(await chunks.next());
  const next = () => {
    const one = first ?? chunks.next();
    first = undefined;
    return one;
  };
  const iterator = { next, return: () => chunks.return() };
  return Readable.from({ [Symbol.asyncIterator]: () => iterator }, { objectMode: false });
}
