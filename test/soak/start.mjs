// Runs the soak: see soak.ts. It is written in TypeScript like the tests, which Node 20 cannot run directly.
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

// Open until the end: modules that are imported later, such as the S3 client, are loaded through it, too.
const vite = await createServer({
  configFile: false,
  logLevel: 'error',
  server: { middlewareMode: true, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
});
try {
  const { command } = await vite.ssrLoadModule(fileURLToPath(new URL('./soak.ts', import.meta.url)));
  process.exitCode = await command(
    process.argv.slice(2),
    fileURLToPath(new URL('../../dist/main.js', import.meta.url)),
  );
} finally {
  await vite.close();
}
