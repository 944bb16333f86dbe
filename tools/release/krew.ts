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
  /** Archives with a single executable, by platform. */
  readonly executables: readonly { readonly arch: string; readonly file: string; readonly bytes: Uint8Array }[]
}

/** Writes the manifest of the kubectl plugin: https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/ */
export const krewManifest = ({ version, description, downloads, repository, executables, ...npm }: Krew): string => {
  const sourceOf = ({ file, bytes }: Pick<Krew, 'file' | 'bytes'>) => ({
    uri: `${downloads.replace(/\/+$/, '')}/${file}`,
    sha256: sha256(bytes),
  })
  const hasNode = executables.length > 0
  return stringify({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'meshstep' },
    spec: {
      version: `v${version}`,
      ...(repository && { homepage: repository }),
      shortDescription: 'Who may talk to whom on a mesh, and why',
      description,
      caveats: `${hasNode ? 'On macOS it' : 'It'} needs Node 22.18 or later on the PATH.`,
      // krew's index takes no two that select the same machine
      platforms: [
        ...executables.map((one) => ({
          selector: { matchLabels: { os: 'linux', arch: one.arch } },
          ...sourceOf(one),
          files: [{ from: '*', to: '.' }],
          bin: 'meshstep',
        })),
        {
          selector: {
            matchExpressions: [{ key: 'os', operator: 'In', values: ['darwin', ...(hasNode ? [] : ['linux'])] }],
          },
          ...sourceOf(npm),
          files: [{ from: 'package/*', to: '.' }],
          bin: 'meshstep.mjs',
        },
      ],
    },
  })
}
