import { Redis } from 'ioredis';

/**
 * A client that writes the commands of one turn of the event loop together: a write to a socket costs as much as everything
 * else that a command needs, and a worker's runs send many in the same turn. Unlike ioredis' `enableAutoPipelining`, each
 * command stays one of its own: its errors, its time-out, and that it is sent again after a reconnect.
 */
export class BatchingRedis extends Redis {
  #corked = false;

  override sendCommand(...args: Parameters<Redis['sendCommand']>): unknown {
    const { stream } = this;
    // Undefined before the first connection.
    if (!this.#corked && stream?.writable) {
      this.#corked = true;
      stream.cork();
      setImmediate(() => {
        this.#corked = false;
        stream.uncork();
      });
    }
    return super.sendCommand(...args);
  }
}
