import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { readConfig } from '../../src/base/config/config.ts';
import { issueKeys } from '../../src/sandbox/api-keys.ts';
import { DEFAULT_SEED } from '../../src/sandbox/sandbox.ts';
import { createTestProgram } from '../support/run-command.ts';

const serviceSchema = z.object({
  image: z.string().optional(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).optional(),
  read_only: z.boolean().optional(),
  volumes: z.array(z.string()).optional(),
});
const compose = z.object({ services: z.record(z.string(), serviceSchema), volumes: z.record(z.string(), z.unknown()) });

test('docker-compose.yml has existing commands, a valid environment and a Redis that keeps its data', async () => {
  const { services, volumes } = compose.parse(parse(await readFile('docker-compose.yml', 'utf8')));
  const { docket, sandbox, redis } = services;
  const commands = createTestProgram().commands.map((command) => command.name());
  expect(commands).toContain(docket?.command?.[0]);
  expect(commands).toContain(sandbox?.command?.[0]);
  expect([docket?.read_only, sandbox?.read_only]).toEqual([true, true]);
  expect(() => readConfig(docket?.environment ?? {})).not.toThrow();
  expect(redis?.command).toEqual(expect.arrayContaining(['--appendonly', 'yes', '--maxmemory-policy', 'noeviction']));

  const key = issueKeys(DEFAULT_SEED, Date.now()).find(({ stored }) => stored.label === 'acme')?.text;
  expect(docket?.environment?.DEMO_API_KEY).toBe(`\${DEMO_API_KEY:-${key}}`);

  // Tokens are created in the running container: in a separate volume, in a folder that the image gives to its user.
  const tokens = dirname(docket?.environment?.DOCKET_ADMIN_TOKENS ?? '');
  const [volume = ''] = docket?.volumes?.find((each) => each.split(':')[1] === tokens)?.split(':') ?? [];
  expect(Object.keys(volumes)).toContain(volume);
  const made = /install -d -o node -g node (.*)/.exec(await readFile('Dockerfile', 'utf8'))?.[1]?.split(' ');
  expect(made).toContain(tokens);
});
