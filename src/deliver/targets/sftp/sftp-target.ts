import { DocketError, errorMessage } from '../../../base/error.ts';
import { renderPath } from '../../../base/files/safe-path.ts';
import type { TemplateVariables } from '../../../base/text/template.ts';
import { pathDiagnostics } from '../../../definitions/diagnostics/delivery-diagnostics.ts';
import { type DestinationGuard, destinationGuard } from '../../destination-guard.ts';
import { chosenFiles, filePaths, fillOrUndefined, probeName, requireFiles, shownFormats } from '../file-target.ts';
import {
  type DeliveryContext,
  defineTarget,
  newRow,
  type ProbeContext,
  probeError,
  type TargetProbe,
  templateVariables,
} from '../target.ts';
import { openSftp } from './sftp-connection.ts';
import { type SftpSpec, sftpFolderUrl, sftpSchema, sftpServerUrl } from './sftp-schema.ts';
import { joinPath, type OpenSftp, type SftpUpload, uploadFiles, verifyUpload } from './sftp-upload.ts';

const fillPath = (template: string, variables: TemplateVariables): string =>
  renderPath(template, variables, 'deliveries[].sftp.path');

/** Uploads the files to a folder of an SFTP server. */
export const sftpTarget = defineTarget({
  kind: 'sftp',
  label: 'SFTP server',
  audience: { one: 'SFTP server', many: 'SFTP servers' },
  attachField: 'files',
  schema: sftpSchema,
  diagnostics: ({ path }, context) => pathDiagnostics(['path'], path, context),
  describe: (spec) => ({
    addresses: [sftpFolderUrl(spec, spec.path)],
    writes: { template: `${spec.path}/{{ file.name }}`, overwrite: spec.overwrite },
    shows: { formats: shownFormats(spec), parts: [] },
    destinations: [{ path: ['host'], host: spec.host }],
  }),
  list: (target, spec, context) => {
    const { published, secrets } = context;
    const server = sftpServerUrl(spec);
    const fill = (): string => fillPath(spec.path, templateVariables(published.manifest));
    const recipient = sftpFolderUrl(spec, fillOrUndefined(fill) ?? spec.path);
    const row = newRow(published, target, recipient, `${server} ${spec.path}`);
    return [
      {
        row,
        service: `${server} of ${row.org}`,
        messageId: null,
        linkable: true,
        verify: () => verifyUpload(buildUpload(row.id, spec, context), secrets, guardedSftp(spec, context)),
        fileLocations: () => filePaths(sftpFolderUrl(spec, fill()), chosenFiles(published.artifacts, spec)),
      },
    ];
  },
  send: async ({ row }, spec, context) => {
    buildGuard(context).assertHost(spec.host);
    requireFiles(context.published.artifacts, spec);
    return uploadFiles(buildUpload(row.id, spec, context), context.secrets, guardedSftp(spec, context));
  },
  probe: (spec, context) => probeSftp(spec, context),
});

const buildGuard = ({ settings, destinations }: DeliveryContext): DestinationGuard =>
  destinationGuard(settings, destinations);

const buildUpload = (delivery: string, spec: SftpSpec, { published, clock }: DeliveryContext): SftpUpload => ({
  spec,
  folder: fillPath(spec.path, templateVariables(published.manifest)),
  artifacts: chosenFiles(published.artifacts, spec),
  delivery,
  clock,
});

/** Opens a server that the organization may use, and refuses forbidden addresses. Throws `deliver.target_refused`. */
function guardedSftp(spec: SftpSpec, context: DeliveryContext | { readonly guard: DestinationGuard }): OpenSftp {
  const guard = 'guard' in context ? context.guard : buildGuard(context);
  return async (...args) => {
    guard.assertHost(spec.host);
    return openSftp(...args, guard.addressPolicy(spec.host));
  };
}

/** Logs in, then creates and removes an empty file in the folder. */
function probeSftp(spec: SftpSpec, { variables, secrets, guard }: ProbeContext): TargetProbe {
  const server = sftpServerUrl(spec);
  const failed = (detail: string): DocketError =>
    probeError(
      `The SFTP server ${server}`,
      detail,
      'Correct host, user, host_key and path, or the password or key that the references name.',
    );
  return {
    name: `SFTP ${sftpFolderUrl(spec, spec.path)}`,
    probe: async () => {
      const filled = fillPath(spec.path, variables);
      const session = await guardedSftp(spec, { guard })(spec, secrets).catch((error: unknown) => {
        throw error instanceof DocketError ? error : failed(errorMessage(error));
      });
      try {
        let folder = filled;
        // A delivery would create missing folders, so their nearest existing parent must be writable.
        while (spec.mkdir && (await session.size(folder)) === undefined) {
          const parent = folder.replace(/\/?[^/]+\/?$/, '');
          folder = parent === '' ? (filled.startsWith('/') ? '/' : '.') : parent;
          if (folder === '/' || folder === '.') break;
        }
        const path = joinPath(folder, probeName());
        await session.touch(path);
        await session.remove(path);
        return `${server} lets ${spec.user} in and write to ${folder}`;
      } catch (error) {
        throw failed(`${filled}: ${errorMessage(error)}`);
      } finally {
        session.close();
      }
    },
  };
}
