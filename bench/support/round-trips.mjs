import { Redis } from 'ioredis';

/** Commands that wait for jobs instead of a response. */
const IDLE = new Set(['bzpopmin', 'client', 'info', 'select', 'script', 'smismember']);

/**
 * Counts what this process sends to Redis: commands, and turns of the event loop in which at least one is sent, which
 * is what a run waits for. `sent` has the commands by name and first key, separately for BullMQ.
 */
export function countRoundTrips() {
  const sent = new Map();
  let trips = 0;
  let commands = 0;
  let leaving = false;
  const { sendCommand } = Redis.prototype;
  Redis.prototype.sendCommand = function (command, ...rest) {
    if (!IDLE.has(command.name) && this.status !== 'wait') {
      commands += 1;
      const name = nameOf(command);
      sent.set(name, (sent.get(name) ?? 0) + 1);
      if (!leaving) {
        leaving = true;
        trips += 1;
        setImmediate(() => {
          leaving = false;
        });
      }
    }
    return sendCommand.call(this, command, ...rest);
  };
  return { trips: () => trips, commands: () => commands, sent };
}

function nameOf({ name, args }) {
  const scripted = name === 'evalsha' || name === 'eval';
  const key = String(args[scripted ? 2 : 0] ?? '')
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}/g, '*')
    .replace(/\d{3,}/g, '*');
  const step = scripted
    ? args.slice(2 + Number(args[1])).find((arg) => /^(lookup|claim|put|acquire|complete)$/.test(String(arg)))
    : undefined;
  return `${name} ${key}${step === undefined ? '' : ` ${step}`}`;
}
