// The sandbox in its own thread, so that its work is not counted as the worker's. Sends {"url", "key"} when it listens.
import { parentPort } from 'node:worker_threads';
import { startSandbox } from '../../dist-modules/sandbox/sandbox.js';
import { keyOf } from './service.mjs';

const sandbox = await startSandbox({ windowMs: 10 });
parentPort.postMessage({ url: sandbox.url, key: keyOf(sandbox, 'acme') });
