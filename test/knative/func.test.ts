import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { builds, cannotBuild, folder, build as render } from './builds.ts'
import { all, functionServices, Trigger } from './kinds.ts'

type Pair = { readonly name: string; readonly value: string }

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const { name, namespace, build, run, deploy } = parse(read('func.yaml'))
const valuesOf = (pairs: readonly Pair[]) => Object.fromEntries(pairs.map((pair) => [pair.name, pair.value]))

describe.skipIf(cannotBuild)(`func.yaml ${cannotBuild ?? ''}`, () => {
  const objects = builds.find((one) => one.name === 'overlays/kafka')?.objects ?? []
  const [service] = functionServices(objects)
  const template = service?.spec.template
  const container = template?.spec.containers[0]

  test('kn func deploys the Service to which the Trigger of knative/ delivers, in its namespace', () => {
    expect([name, namespace]).toEqual([service?.metadata.name, service?.metadata.namespace])
    expect(all(objects, Trigger).map(({ spec }) => spec.subscriber.ref.name)).toEqual([name])
  })

  test('kn func gives it the account, labels, probes, scale and bounds that knative/ gives it', () => {
    const labels = deploy.labels.map(({ key, value }: { key: string; value: string }) => [key, value])
    expect(Object.fromEntries(labels)).toEqual({ ...service?.metadata.labels, ...template?.metadata.labels })
    expect(deploy.serviceAccountName).toBe(template?.spec.serviceAccountName)
    expect(deploy.healthEndpoints).toEqual({
      liveness: container?.livenessProbe.httpGet.path,
      readiness: container?.readinessProbe.httpGet.path,
    })
    const { scale, resources } = deploy.options
    expect(String(scale.max)).toBe(template?.metadata.annotations['autoscaling.knative.dev/max-scale'])
    const { concurrency, ...limits } = resources.limits
    expect(concurrency).toBe(template?.spec.containerConcurrency)
    expect({ ...resources, limits }).toEqual(container?.resources)
    // kn func probes this port, and sets no other
    expect(container?.ports).toEqual([{ containerPort: 8080 }])
  })

  test('kn func sets the audience of knative/, and what the image sets for its memory', () => {
    const [, inImage = ''] = /^ENV NODE_ENV=production NODE_COMPILE_CACHE=\S+ (.*)$/m.exec(read('Dockerfile')) ?? []
    const image = [...inImage.matchAll(/(\w+)=(?:"(.*?)"|(\S+))/g)].map(([, key, quoted, plain]) => [
      key,
      quoted ?? plain,
    ])
    expect(valuesOf(run.envs)).toEqual({ ...valuesOf(container?.env ?? []), ...Object.fromEntries(image) })
  })

  test('the overlay of the docs leaves out the Service that kn func deploys, and nothing else', () => {
    const [, overlay = ''] = /## With kn func\n.*?```yaml\n(.*?)```/s.exec(read('knative/README.md')) ?? []
    const made = mkdtempSync(join(tmpdir(), 'meshstep-func-'))
    writeFileSync(
      join(made, 'kustomization.yaml'),
      overlay.replace('../kafka', relative(made, join(folder, 'overlays/kafka'))),
    )
    expect(render(made)).toEqual(objects.filter((one) => one.kind !== 'Service' || one.metadata.name !== name))
    rmSync(made, { recursive: true })
  })

  test('kn func builds with the Node and the script of the image, and starts node itself with what is built', () => {
    const { BP_NODE_VERSION, BP_NODE_RUN_SCRIPTS, BP_PROCFILE_DEFAULT_PROCESS } = valuesOf(build.buildEnvs)
    expect(read('Dockerfile')).toMatch(new RegExp(`^ARG NODE_IMAGE=node:${BP_NODE_VERSION}-`, 'm'))
    expect(read('Dockerfile')).toContain(`\nRUN npm run ${BP_NODE_RUN_SCRIPTS}\n`)
    const [, outfile] = /outfile: '(dist\/server\.\w+)'/.exec(read('build.ts')) ?? []
    expect(BP_PROCFILE_DEFAULT_PROCESS).toBe(`node ${outfile}`)
  })
})
