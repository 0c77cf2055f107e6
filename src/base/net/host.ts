/** Whether a host, without port and with or without brackets, is this machine (RFC 6761 for `.localhost`). */
export const isLoopback = (host: string): boolean => /^((.+\.)?localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host);

/** The port of a connection, from a URL or a client's options. Defaults to the protocol's port. */
export const portOf = ({
  protocol,
  port,
}: {
  readonly protocol: string;
  readonly port?: string | number | null;
}): number => Number(port || (protocol === 'https:' ? 443 : 80));
