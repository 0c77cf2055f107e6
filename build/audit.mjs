// `node build/audit.mjs`: fails on a known high or critical vulnerability in the packages that Docket contains or
// installs. Only warns if the registry has no audit endpoint or does not answer.
import { spawnSync } from 'node:child_process';

const { stdout, stderr } = spawnSync('npm', ['audit', '--omit=dev', '--audit-level=high', '--json'], {
  encoding: 'utf8',
  maxBuffer: 64 << 20,
});
const { metadata, vulnerabilities, message } = JSON.parse(stdout || '{}');
if (metadata === undefined) {
  console.warn(`audit: the registry gave no answer, so nothing was checked: ${message ?? stderr}`);
} else {
  const found = Object.values(vulnerabilities).filter(({ severity }) => ['high', 'critical'].includes(severity));
  for (const { name, severity, range, fixAvailable } of found)
    console.error(`audit: ${name} ${range}: ${severity}${fixAvailable ? '; npm has a fix' : ''}`);
  console.log(`audit: ${JSON.stringify(metadata.vulnerabilities)}`);
  process.exitCode = found.length === 0 ? 0 : 1;
}
