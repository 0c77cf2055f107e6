// A client in its own process, so that its work delays neither the benchmark nor the server. Forked by `httpClient`.
import { Pool } from 'undici';
import { arrivals } from './arrivals.mjs';

process.once('disconnect', () => process.exit());

process.on('message', async ({ url, headers, requests, rate, seconds }) => {
  const pool = new Pool(url, { connections: 16 });
  const ask = async (index) => {
    const { method, path, body = null } = requests[index % requests.length];
    const answer = await pool.request({ method, path, headers, body });
    await answer.body.arrayBuffer();
    return answer.statusCode;
  };
  const { times, statuses, lateMs, late } = await arrivals(ask, { rate, seconds });
  await pool.close();
  process.send({ times, statuses: [...statuses], lateMs, late });
});
