import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { builds, cannotBuild } from './builds.ts'
import { all, CronJob, KnativeService } from './kinds.ts'

const COMPONENT = 'knative/components/juju'

const SECURITY = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
}

const followed = builds.filter(({ components }) => components.includes('juju'))

describe.skipIf(cannotBuild)(`components/juju ${cannotBuild ?? ''}`, () => {
  test('no other build has a CronJob', () => {
    expect(followed.length).toBeGreaterThan(0)
    const others = builds.filter((build) => !followed.includes(build))
    expect(others.flatMap(({ objects }) => all(objects, CronJob))).toEqual([])
  })

  describe.each(followed)('$name', ({ objects, components }) => {
    const [job] = all(objects, CronJob)
    const pod = job?.spec.jobTemplate.spec.template.spec
    const [container] = pod?.containers ?? []
    const namespace = job?.metadata.namespace ?? ''

    test('the CronJob follows the model that is named as its namespace is, as its own account', () => {
      expect(container?.args).toEqual([
        'juju',
        '--model=$(NAMESPACE)',
        '--author=system:serviceaccount:$(NAMESPACE):meshstep-juju',
      ])
      expect(container?.env).toContainEqual({
        name: 'NAMESPACE',
        valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } },
      })
      expect(pod?.serviceAccountName).toBe('meshstep-juju')
    })

    test('the end of an application is told to a Service that is there, with a token for its audience', () => {
      const variable = (name: string) => container?.env.find((one) => one.name === name)?.value
      const server = /^http:\/\/([-a-z]+)\.\$\(NAMESPACE\)\.svc\.cluster\.local$/.exec(
        variable('MESHSTEP_SERVER') ?? '',
      )?.[1]
      const services = all(objects, KnativeService).map(({ metadata }) => metadata.name)
      // with functions apart, an overlay names the one that takes it
      expect(services).toContain(components.includes('functions') ? 'meshstep-application-removed' : server)
      const [token] = pod?.volumes ?? []
      expect(token).toMatchObject({
        name: 'token',
        projected: { sources: [{ serviceAccountToken: { audience: `meshstep.${namespace}`, path: 'token' } }] },
      })
      const mount = container?.volumeMounts.find(({ name }) => name === 'token')
      expect(variable('MESHSTEP_TOKEN_FILE')).toBe(`${mount?.mountPath}/token`)
    })

    test('its pods meet the pod security standard "restricted", and are bounded', () => {
      expect(pod?.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
      for (const one of [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])]) {
        expect(one.securityContext).toEqual(SECURITY)
        expect(Object.keys(one.resources.limits).toSorted()).toEqual(['cpu', 'memory'])
        expect(one.image).toBe('meshstep-juju')
      }
    })

    test('the credentials are copied out of their Secret, as juju writes beside them', () => {
      const [copying] = pod?.initContainers ?? []
      expect(copying?.volumeMounts).toContainEqual({ name: 'credentials', mountPath: '/credentials', readOnly: true })
      expect(pod?.volumes).toContainEqual({ name: 'credentials', secret: { secretName: 'meshstep-juju' } })
      const data = container?.env.find(({ name }) => name === 'JUJU_DATA')?.value
      expect(copying?.command?.join(' ')).toBe(`sh -c cp /credentials/*.yaml ${data}/`)
      expect(container?.volumeMounts).toContainEqual({ name: 'juju', mountPath: data })
    })
  })
})

test('the image of components/juju has the command and the juju that are named, and runs as no root', () => {
  const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n')
  const [node] = linesOf('Dockerfile').filter((line) => line.startsWith('ARG NODE_IMAGE='))
  const text = linesOf(`${COMPONENT}/Dockerfile`).filter((line) => !line.startsWith('#'))
  expect(text.join('\n').replaceAll('${', '{')).toBe(`${node}
FROM {NODE_IMAGE}
ARG MESHSTEP
ARG JUJU
COPY {MESHSTEP} /tmp/meshstep.tgz
RUN npm install --global /tmp/meshstep.tgz && rm /tmp/meshstep.tgz
COPY --chmod=755 {JUJU} /usr/local/bin/juju
USER 1000:1000
ENTRYPOINT ["meshstep"]
`)
})
