// Runs the soak: see soak.ts. It is TypeScript as the tests are, and Node 20 does not run that by itself.
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

// Open until the end: what is imported only when it is needed, such as the client of S3, comes through it as well.
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
