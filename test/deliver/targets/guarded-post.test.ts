import { expect, onTestFinished, test } from 'vitest';
import { guardedPost, probeConnection } from '../../../src/deliver/targets/guarded-post.ts';
import { hostileServer } from '../../support/hostile-server.ts';

const serverOf = async () => {
  const server = await hostileServer();
  onTestFinished(() => server.close());
  return server;
};

test('a request without a response in time is lost', async () => {
  const server = await serverOf();
  server.behave(() => {});
  const options = {
    allowPrivate: true,
    signal: new AbortController().signal,
    timeouts: { connect: 1_000, answer: 50 },
  };
  expect(await guardedPost(new URL(server.url), {}, '{}', options)).toEqual({
    kind: 'lost',
    reason: 'no answer in time',
  });
});

test('a stopped run posts nothing, but waits for the response to a request already sent', async () => {
  const server = await serverOf();
  const stopping = new AbortController();
  let requestCount = 0;
  server.behave((_request, response) => {
    requestCount += 1;
    stopping.abort(new Error('stopped'));
    response.writeHead(204).end();
  });
  const options = { allowPrivate: true, signal: stopping.signal };
  expect(await guardedPost(new URL(server.url), {}, '{}', options)).toMatchObject({ kind: 'answered', status: 204 });
  expect(await guardedPost(new URL(server.url), {}, '{}', options)).toMatchObject({ kind: 'unsent', forbidden: false });
  expect(requestCount).toBe(1);
});

test('a name that resolves to a private address is refused before anything is sent', async () => {
  const server = await serverOf();
  const { port } = new URL(server.url);
  for (const host of ['localhost', '127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '0.0.0.0']) {
    const posted = await guardedPost(new URL(`http://${host}:${port}/`), {}, '{}', {
      allowPrivate: false,
      signal: new AbortController().signal,
    });
    expect(posted, host).toMatchObject({ kind: 'unsent', forbidden: true });
    await expect(probeConnection(new URL(`http://${host}:${port}/`), { allowPrivate: false }), host).rejects.toThrow(
      /private address/,
    );
  }
  expect(server.requests).toEqual([]);
});
