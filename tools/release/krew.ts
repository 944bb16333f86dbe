import { stringify } from 'yaml'
import { sha256 } from './provenance.ts'

type Krew = {
  readonly version: string
  readonly description: string
  /** The address at which the files of the release are. */
  readonly downloads: string
  readonly repository?: string | undefined
  /** The name and the bytes of the npm package. */
  readonly file: string
  readonly bytes: Uint8Array
}

/** Writes the manifest of the kubectl plugin: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/ */
export const krewManifest = ({ version, description, downloads, repository, file, bytes }: Krew): string =>
  stringify({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'meshstep' },
    spec: {
      version: `v${version}`,
      ...(repository && { homepage: repository }),
      shortDescription: 'Who may talk to whom on a mesh, and why',
      description,
      caveats: 'It needs Node 22.18 or later on the PATH.',
      platforms: [
        {
          selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['darwin', 'linux'] }] },
          uri: `${downloads.replace(/\/+$/, '')}/${file}`,
          sha256: sha256(bytes),
          files: [{ from: 'package/*', to: '.' }],
          bin: 'meshstep.mjs',
        },
      ],
    },
  })
