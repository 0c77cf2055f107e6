/** Whether a host without a port, with or without brackets, is this machine (RFC 6761 for `.localhost`). */
export const isLoopback = (host: string): boolean => /^((.+\.)?localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host);

/** The port that a connection of a protocol takes, of a URL or of what a client gives. */
export const portOf = ({
  protocol,
  port,
}: {
  readonly protocol: string;
  readonly port?: string | number | null;
}): number => Number(port || (protocol === 'https:' ? 443 : 80));
