import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test.skipIf(!existsSync('/dev/full'))(
  'a program continues if it can no longer write its log to stderr, as on a full disk',
  () => {
    const full = openSync('/dev/full', 'w');
    const log = JSON.stringify(fileURLToPath(new URL('../../dist-modules/base/log.js', import.meta.url)));
    const program = `const { stderrLog } = await import(${log});
    for (const pretty of [undefined, { color: false }]) {
      const log = stderrLog('info', { pretty });
      for (let n = 0; n < 3; n += 1) log.warn('Said');
    }
    console.log('went on');`;
    const ended = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', full],
    });
    closeSync(full);
    expect([ended.status, ended.stdout.toString()]).toEqual([0, 'went on\n']);
  },
);
