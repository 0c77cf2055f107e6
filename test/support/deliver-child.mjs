// A worker in miniature, as users run it (dist/): delivers a sealed run, and is killed by the kernel where it is told.
import { Redis } from 'ioredis';
import { readArchivePlace } from '../../dist/base/archive-place.js';
import { systemClock } from '../../dist/base/clock.js';
import { Secret, secretSource } from '../../dist/base/secret.js';
import { deliver } from '../../dist/deliver/deliver.js';
import { directoryShelf } from '../../dist/deliver/directory-shelf.js';
import { smtpMailer } from '../../dist/deliver/mailer.js';
import { redisLedger } from '../../dist/deliver/redis-ledger.js';
import { s3Shelf } from '../../dist/deliver/s3-shelf.js';
import { redisSentFigures } from '../../dist/deliver/sent-figures.js';
import { shelfArchive } from '../../dist/deliver/shelf-archive.js';
import { remembering } from '../../dist/run/remember.js';

const told = JSON.parse(process.argv[2]);
const { archive: url, smtp, redis: redisUrl, prefix, kill, order, definition, settings, remembered = {} } = told;
let calls = 0;
const die = () => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
};
const guard = (port) =>
  new Proxy(port, {
    get:
      (target, name) =>
      async (...args) => {
        const mine = calls++ === kill?.at;
        if (mine && kill?.when === 'before') await die();
        const answer = await target[name](...args);
        if (mine && kill?.when === 'after') await die();
        return answer;
      },
  });

const redis = new Redis(redisUrl);
const place = readArchivePlace(url);
const shelf = place.kind === 's3' ? s3Shelf(place, secretSource(process.env)) : directoryShelf(place.folder);
const archive = shelfArchive(shelf, systemClock);
const mailer = smtpMailer(new Secret(smtp));
const sealed = await archive.find(order);
const ledger = guard(redisLedger(redis, { prefix, ttlDays: 1 }));
// Figures and conditions, where later runs shall know of them.
const manifest = { ...sealed.manifest, ...remembered };
const memory = { sentFigures: guard(redisSentFigures(redis, { prefix })), ledger, clock: systemClock };
const { receipts } = await remembering(manifest, memory, () =>
  deliver({
    order,
    definition,
    settings,
    secrets: secretSource(process.env),
    sealed,
    mail: { mailer: guard(mailer), from: 'reports@docket.example' },
    ledger,
    archive: guard(archive),
    clock: systemClock,
    signal: new AbortController().signal,
    observe: () => {},
  }),
);
await mailer.close();
shelf.close();
redis.disconnect();
process.stdout.write(JSON.stringify({ receipts, calls }));
