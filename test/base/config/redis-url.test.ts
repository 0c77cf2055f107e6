import { describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/base/config/config.ts';
import { parseRedisUrl } from '../../../src/base/config/redis-url.ts';

const nobody = { username: undefined, password: undefined };

describe('REDIS_URL', () => {
  it.each(['redis://127.0.0.1:6379', 'rediss://user:p%40ss@redis.example:6380/3', 'redis:///var/run/redis.sock'])(
    'can name one server: %s',
    (url) => expect(parseRedisUrl(url)).toEqual({ kind: 'server', url }),
  );

  it('can name Sentinels, their master, its database and the logins for both', () => {
    expect(parseRedisUrl('redis+sentinel://a:1,b,[::1]:3/mymaster')).toEqual({
      kind: 'sentinel',
      nodes: [
        { host: 'a', port: 1 },
        { host: 'b', port: 26_379 },
        { host: '::1', port: 3 },
      ],
      ...nobody,
      tls: false,
      master: 'mymaster',
      db: 0,
      sentinelUsername: undefined,
      sentinelPassword: undefined,
    });
    expect(
      parseRedisUrl('rediss+sentinel://me:a%3Ab%40c:d@a:1/mine/4?sentinel_username=s&sentinel_password=t%26u'),
    ).toMatchObject({
      tls: true,
      username: 'me',
      password: 'a:b@c:d',
      master: 'mine',
      db: 4,
      sentinelUsername: 's',
      sentinelPassword: 't&u',
    });
  });

  it('can name nodes of a Cluster', () => {
    expect(parseRedisUrl('redis+cluster://:secret@a,b:7000')).toEqual({
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 6_379 },
        { host: 'b', port: 7_000 },
      ],
      username: undefined,
      password: 'secret',
      tls: false,
    });
    expect(parseRedisUrl('rediss+cluster://a')).toMatchObject({ tls: true });
  });

  it.each([
    ['http://127.0.0.1', /redis\+sentinel:\/\//],
    ['redis://:50%zz@127.0.0.1', /percent-encoded/],
    ['redis://127.0.0.1/acme', /number of a database/],
    ['redis+cluster://', /host:port/],
    ['redis+cluster://a:70000', /host:port/],
    ['redis+cluster://a,,b', /host:port/],
    ['redis+cluster://a:1 b:2', /host:port/],
    ['redis+cluster://a/0', /no databases/],
    ['redis+cluster://a?x=1', /no databases/],
    ['redis+cluster://u:%zz@a', /percent-encoded/],
    ['redis+sentinel://a:1', /name of the master/],
    ['redis+sentinel://a:1/', /name of the master/],
    ['redis+sentinel://a:1/m/x', /\/master\/database/],
    ['redis+sentinel://a:1/m/0/1', /\/master\/database/],
    ['redis+sentinel://a:1/m?password=x', /sentinel_password/],
  ])('is refused with the expected form: %s', (url, expected) => {
    expect(parseRedisUrl(url)).toMatch(expected);
  });

  it('is not repeated in the error', () => {
    expect(() => readConfig({ REDIS_URL: 'redis+sentinel://me:hunter2@a:1' })).toThrow(/REDIS_URL: expected the name/);
    expect(() => readConfig({ REDIS_URL: 'redis+sentinel://me:hunter2@a:1' })).not.toThrow(/hunter2/);
  });
});
