// A mail server in a process of its own that takes every message and keeps none: {"port"} on its first line, then, for each
// line that comes in, how many messages and bytes it has taken.
import { createInterface } from 'node:readline';
import { SMTPServer } from 'smtp-server';

let messages = 0;
let bytes = 0;
const server = new SMTPServer({
  disabledCommands: ['AUTH', 'STARTTLS'],
  logger: false,
  disableReverseLookup: true,
  onData: (stream, _session, callback) => {
    stream.on('data', (chunk) => {
      bytes += chunk.length;
    });
    stream.on('end', () => {
      messages += 1;
      callback(null, 'Taken');
    });
  },
});
server.on('error', () => {});
const listener = server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (listener.address());
  console.log(JSON.stringify({ port }));
});
createInterface({ input: process.stdin })
  .on('line', () => console.log(JSON.stringify({ messages, bytes })))
  .on('close', () => process.exit(0));
