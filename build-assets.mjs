// `tsc` copies nothing but code; the Lua scripts and page assets that stand beside it have to follow it into dist/.
import { chmodSync, cpSync, statSync } from 'node:fs';

cpSync('src', 'dist', {
  recursive: true,
  filter: (path) => statSync(path).isDirectory() || !/\.tsx?$/.test(path),
});
chmodSync('dist/main.js', 0o755);
