import { subjectName } from '../base/subject.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import { accessChanges, applicationsIn } from '../preview/access.ts'
import type { Memories } from '../state/memory.ts'
import type { Finding } from './lint.ts'

/** Pairs of applications that are looked at: each costs some milliseconds. */
const MOST_PAIRS = 2_500

/** DENY policies that refuse what an ALLOW policy lets in: one of the two is probably not meant. */
export const hiddenFindings = async (
  memories: Pick<Memories, 'read'>,
  kubernetes: Kubernetes,
  namespace: string,
): Promise<Finding[]> => {
  const lists = await Promise.all(
    (['StatefulSet', 'Deployment', 'Service'] as const).map((kind) => kubernetes.list(kind, namespace)),
  )
  const applications = applicationsIn(lists.flat(), new Set([namespace]))
  const without: Kubernetes = {
    ...kubernetes,
    list: async (kind, where, selector) => {
      const listed = await kubernetes.list(kind, where, selector)
      return kind === 'AuthorizationPolicy' ? listed.filter(({ spec }) => spec?.action !== 'DENY') : listed
    },
  }
  const sides = {
    before: { memories, kubernetes: without, question: {}, isByPolicy: true },
    after: { memories, kubernetes, question: {}, isByPolicy: true },
  }
  const pairs = applications.flatMap((to) => applications.filter((from) => from !== to).map((from) => ({ from, to })))
  const findings: Finding[] = []
  for (const { from, to } of pairs.slice(0, MOST_PAIRS))
    for (const { line, before, after } of await accessChanges(from, to, sides))
      if (before === 'allowed' && after === 'denied')
        findings.push({
          rule: 'allow-hidden',
          about: subjectName(to),
          message: `a DENY policy refuses what an ALLOW policy lets in: ${line.slice(2)}`,
        })
  return findings
}
