// Records the stored data of the version at hand: see record.ts. It is TypeScript, which Node 20 does not run by itself.
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

const vite = await createServer({
  configFile: false,
  logLevel: 'error',
  server: { middlewareMode: true, ws: false, watch: null },
  optimizeDeps: { noDiscovery: true },
});
try {
  const { record } = await vite.ssrLoadModule(fileURLToPath(new URL('./record.ts', import.meta.url)));
  await record(fileURLToPath(new URL('.', import.meta.url)));
} finally {
  await vite.close();
}
