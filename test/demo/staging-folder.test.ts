import { spawnSync } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createStagingFolder } from '../../src/demo/demo.ts';
import { folderFor } from '../support/delivery-case.ts';

test('a demo removes the folders of demos that were killed, and nothing else', async () => {
  const folder = await folderFor(onTestFinished);
  const ended = spawnSync(process.execPath, ['-e', '']).pid;
  const kept = [`demo-out.${process.pid}-0a1b2c`, 'demo-out', 'demo-out.mine', `other.${ended}-0a1b2c`];
  for (const name of [...kept, `demo-out.${ended}-0a1b2c`]) await mkdir(join(folder, name));
  const staging = await createStagingFolder(join(folder, 'demo-out'));
  expect((await readdir(folder)).sort()).toEqual([...kept, basename(staging)].sort());
});
