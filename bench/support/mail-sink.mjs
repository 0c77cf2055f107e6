// A mail server in its own process that accepts every message and stores none. Prints {"port"} on its first line. Then,
// for each line it reads, prints how many messages and bytes it has accepted.
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
