// The sandbox in a thread of its own, so that what it computes is not counted as the worker's: {"url", "key"} when it listens.
import { parentPort } from 'node:worker_threads';
import { startSandbox } from '../../dist-modules/sandbox/sandbox.js';
import { keyOf } from './service.mjs';

const sandbox = await startSandbox({ windowMs: 10 });
parentPort.postMessage({ url: sandbox.url, key: keyOf(sandbox, 'acme') });
