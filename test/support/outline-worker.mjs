// The thread of outline-worker.ts, which Piscina starts (typescript-threads.mjs).
import { register } from 'tsx/esm/api';

register();
const { default: renderTask } = await import('./outline-worker.ts');
export default renderTask;
