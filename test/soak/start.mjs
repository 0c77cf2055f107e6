// Runs the soak: see soak.ts. It is TypeScript as the tests are, and Node 20 does not run that by itself.
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const { module } = await runnerImport(fileURLToPath(new URL('./soak.ts', import.meta.url)), { configFile: false });
process.exitCode = await module.command(
  process.argv.slice(2),
  fileURLToPath(new URL('../../dist/main.js', import.meta.url)),
);
