import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

// A thread that becomes ready when a file exists.
while (!existsSync(workerData)) await setTimeout(5);
parentPort?.on('message', (task) => parentPort?.postMessage({ answer: `${task} done` }));
parentPort?.postMessage('ready');
