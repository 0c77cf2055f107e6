import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { waitFor } from './wait-for.ts';

const SLOTS = 16_384;
const POLL = { intervalMs: 50 };
const DURABLE = ['save ""', 'appendonly yes', 'appendfsync always', 'maxmemory-policy noeviction'];

/** A server of a cluster, or of a Sentinel group, that a test may kill. */
export interface Node {
  readonly port: number;
  /** A connection to this server only. */
  readonly client: Redis;
  kill(): Promise<void>;
}

export interface TestCluster {
  /** The value of `REDIS_URL`. */
  readonly url: string;
  readonly masters: readonly Node[];
  /** The master that holds the slot of this key at the start. */
  ownerOf(key: string): Promise<Node>;
  close(): Promise<void>;
}

/** A real cluster of three masters on this machine, with this many replicas of each. */
export async function testCluster({ replicas = 0 }: { readonly replicas?: number } = {}): Promise<TestCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'docket-test-cluster-'));
  const nodes = await Promise.all(
    Array.from({ length: 3 * (1 + replicas) }, async () => {
      const bus = String(await freePort());
      const lines = ['cluster-enabled yes', `cluster-port ${bus}`, 'cluster-node-timeout 2000'];
      return { bus, ...(await startNode(folder, [...DURABLE, ...lines])) };
    }),
  );
  const [first] = nodes;
  if (first === undefined) throw new Error('no node');
  const masters = nodes.slice(0, 3);
  const range = (index: number) => [Math.ceil((index * SLOTS) / 3), Math.ceil(((index + 1) * SLOTS) / 3) - 1] as const;
  await Promise.all(nodes.map(({ client }, index) => client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))));
  await Promise.all(
    masters.map(({ client }, index) => client.call('CLUSTER', 'ADDSLOTSRANGE', ...range(index).map(String))),
  );
  for (const { port, bus } of nodes.slice(1)) {
    await first.client.call('CLUSTER', 'MEET', '127.0.0.1', String(port), bus);
  }
  const settled = () =>
    waitFor(
      'the nodes to know each other',
      async () => {
        const infos = await Promise.all(nodes.map(async ({ client }) => String(await client.call('CLUSTER', 'INFO'))));
        const known = `cluster_known_nodes:${nodes.length}`;
        return infos.every((info) => info.includes('cluster_state:ok') && info.includes(known));
      },
      POLL,
    );
  await settled();
  for (const [index, { client }] of nodes.slice(3).entries()) {
    const master = masters[index % 3];
    await client.call('CLUSTER', 'REPLICATE', String(await master?.client.call('CLUSTER', 'MYID')));
  }
  // A replica is useful only after it has copied everything.
  await Promise.all(nodes.slice(3).map(({ client }) => linked(client)));
  await settled();
  return {
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    masters,
    ownerOf: async (key) => {
      const slot = Number(await first.client.cluster('KEYSLOT', key));
      const owner = masters.find((_, index) => slot <= range(index)[1]);
      if (owner === undefined) throw new Error(`nobody holds slot ${slot}`);
      return owner;
    },
    close: async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface SentinelGroup {
  /** The value of `REDIS_URL`. */
  readonly url: string;
  readonly master: Node;
  readonly replica: Node;
  close(): Promise<void>;
}

/** A master, its replica and three Sentinels that know the master as `mymaster`. */
export async function sentinelGroup(): Promise<SentinelGroup> {
  const folder = await mkdtemp(join(tmpdir(), 'docket-test-sentinel-'));
  const master = await startNode(folder, DURABLE);
  const replica = await startNode(folder, [...DURABLE, `replicaof 127.0.0.1 ${master.port}`]);
  await linked(replica.client);
  const sentinels = await Promise.all(
    Array.from({ length: 3 }, () =>
      startNode(
        folder,
        [
          `sentinel monitor mymaster 127.0.0.1 ${master.port} 2`,
          'sentinel down-after-milliseconds mymaster 500',
          'sentinel failover-timeout mymaster 5000',
        ],
        ['--sentinel'],
      ),
    ),
  );
  await waitFor(
    'the Sentinels to know each other',
    async () => {
      for (const { client } of sentinels) {
        const [others, replicas] = await Promise.all([
          client.call('SENTINEL', 'SENTINELS', 'mymaster'),
          client.call('SENTINEL', 'REPLICAS', 'mymaster'),
        ]);
        if (!(Array.isArray(others) && others.length === 2 && Array.isArray(replicas) && replicas.length === 1)) {
          return false;
        }
      }
      return true;
    },
    POLL,
  );
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/mymaster`,
    master,
    replica,
    close: async () => {
      await Promise.all([...sentinels, master, replica].map((node) => node.kill()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startNode(root: string, lines: readonly string[], mode: readonly string[] = []): Promise<Node> {
  const port = await freePort();
  const folder = join(root, String(port));
  await mkdir(folder);
  // A Sentinel needs a configuration file, which it updates itself.
  const file = join(folder, 'redis.conf');
  await writeFile(file, [`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`, ...lines, ''].join('\n'));
  const server: ChildProcess = spawn('redis-server', [file, ...mode], { stdio: 'ignore' });
  const exited = once(server, 'exit');
  const client = new Redis({ port, maxRetriesPerRequest: null, retryStrategy: () => 20 });
  client.on('error', () => {});
  await client.ping();
  return {
    port,
    client,
    kill: async () => {
      client.disconnect();
      server.kill('SIGKILL');
      await exited;
    },
  };
}

const linked = (replica: Redis): Promise<true> =>
  waitFor(
    'the replica to be linked',
    async () => (await replica.info('replication')).includes('master_link_status:up'),
    POLL,
  );
