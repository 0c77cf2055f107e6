import { expect, it } from 'vitest';
import { coalesceCalls } from '../../src/base/concurrency.ts';

it('callers during a call share the result of one further call, even if the first call failed', async () => {
  const looks: { readonly resolve: (n: number) => void; readonly reject: (error: Error) => void }[] = [];
  const look = coalesceCalls(() => new Promise<number>((resolve, reject) => looks.push({ resolve, reject })));
  const first = look();
  const others = [look(), look(), look()];
  expect(looks).toHaveLength(1);
  looks[0]?.reject(new Error('Redis is away'));
  await expect(first).rejects.toThrow('away');
  // The second call starts after the failure of the first one is known.
  await Promise.resolve();
  looks[1]?.resolve(2);
  expect(await Promise.all(others)).toEqual([2, 2, 2]);
  expect(looks).toHaveLength(2);
  const last = look();
  looks[2]?.resolve(3);
  expect(await last).toBe(3);
});
