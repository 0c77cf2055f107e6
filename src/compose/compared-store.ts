import type { Scope } from '../base/scope.ts';
import { openIdentity } from './archive.ts';
import type { Surroundings } from './ports.ts';
import { openStore, type Store } from './store.ts';

/**
 * The store for a command that enqueues runs: refused where Redis belongs to another deployment than the archive. A machine
 * without the archive may enqueue as well. Throws `redis.unreachable`, `redis.unsuitable`, `deployment.conflict`.
 */
export async function openComparedStore(around: Surroundings, scope: Scope): Promise<Store> {
  const store = await openStore(around, {}, scope);
  const { redis, prefix, runs } = store;
  await openIdentity(around, { redis, prefix, runs, writes: false }, scope).start();
  return store;
}
