// A small worker made of the built modules (dist-modules/). It delivers a sealed run, and kills itself with SIGKILL at a
// given call.
import { Redis } from 'ioredis';
import { systemClock } from '../../dist-modules/base/clock.js';
import { parseArchiveUrl } from '../../dist-modules/base/config/archive-url.js';
import { Secret, secretSource } from '../../dist-modules/base/secrets/secret.js';
import { createArchive } from '../../dist-modules/deliver/archive/create-archive.js';
import { directoryStorage } from '../../dist-modules/deliver/archive/storage/directory-storage.js';
import { s3Storage } from '../../dist-modules/deliver/archive/storage/s3-storage.js';
import { deliver } from '../../dist-modules/deliver/deliver.js';
import { redisLastSentFigures } from '../../dist-modules/deliver/last-sent-figures.js';
import { redisLedger } from '../../dist-modules/deliver/ledger/redis-ledger.js';
import { smtpMailer } from '../../dist-modules/deliver/targets/email/smtp/smtp-mailer.js';
import { deliverAndRecordFigures } from '../../dist-modules/run/previous-figures.js';

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
const place = parseArchiveUrl(url);
const storage = place.kind === 's3' ? s3Storage(place, secretSource(process.env)) : directoryStorage(place.folder);
const archive = createArchive(storage, systemClock);
const mailer = smtpMailer(new Secret(smtp));
const published = await archive.find(order);
const ledger = guard(redisLedger(redis, { prefix, ttlDays: 1 }));
// Figures and conditions, for tests of what later runs learn.
const manifest = { ...published.manifest, ...remembered };
const memory = { sentFigures: guard(redisLastSentFigures(redis, { prefix })), ledger, clock: systemClock };
const { receipts } = await deliverAndRecordFigures(manifest, memory, () =>
  deliver({
    order,
    definition,
    settings,
    secrets: secretSource(process.env),
    published,
    mail: { mailer: guard(mailer), from: 'reports@docket.example' },
    ledger,
    archive: guard(archive),
    clock: systemClock,
    signal: new AbortController().signal,
    observe: () => {},
  }),
);
await mailer.close();
storage.close();
redis.disconnect();
process.stdout.write(JSON.stringify({ receipts, calls }));
