import { connect } from 'node:net';
import { createServer, type SecureContextOptions } from 'node:tls';

/** Adds TLS to a server without it. */
export interface TlsProxy {
  readonly port: number;
  /** Uses this certificate for new connections. */
  present(certificate: SecureContextOptions): void;
  close(): Promise<void>;
}

/** @param port of the server on 127.0.0.1 behind the proxy */
export async function tlsProxy(port: number, certificate: SecureContextOptions): Promise<TlsProxy> {
  const server = createServer(certificate, (socket) => {
    const upstream = connect(port, '127.0.0.1');
    for (const end of [socket, upstream]) end.on('error', () => end.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    present: (next) => server.setSecureContext(next),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
