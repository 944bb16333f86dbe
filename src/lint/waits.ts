import type { Clock } from '../base/clock.ts'
import { type Subject, subjectName } from '../base/subject.ts'
import { describeWait } from '../base/wait.ts'
import type { Features } from '../feature/combine.ts'
import type { Environment } from '../feature/feature.ts'
import type { Kubernetes } from '../kubernetes/client.ts'
import { assess } from '../reconcile/assess.ts'
import type { Finding } from './lint.ts'

type Dependencies = {
  features: Features
  kubernetes: Kubernetes
  clock: Clock
  environment: Environment
}

/** Waits of applications for others, and labels that are not applied to them. */
export const waitFindings = async (dependencies: Dependencies, subjects: readonly Subject[]): Promise<Finding[]> => {
  const findings: Finding[] = []
  for (const subject of subjects) {
    const memory = await dependencies.features.memories.load(dependencies.kubernetes, subject)
    const { waiting, labels } = await assess(dependencies, subject, memory)
    const about = subjectName(subject)
    findings.push(
      ...waiting.map((wait) => ({ rule: 'waiting', about, message: describeWait(wait) })),
      ...labels.messages.map((message) => ({ rule: 'label-refused', about, message })),
    )
  }
  return findings
}
