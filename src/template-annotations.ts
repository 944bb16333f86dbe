import { isDifferent, type LabelReport, type Place, reconcileLabels } from './kubernetes/apply-labels.ts'
import type { Kubernetes } from './kubernetes/client.ts'
import type { WantedLabels } from './kubernetes/label-difference.ts'

/** Holds annotations on the template of an application's pods: another one holds its labels, on the same object. */
const annotationManager = (application: string): string => `meshstep-annotations/${application}`

/** Where annotations are, among places of labels: on templates. Pods that run are never annotated, as that would restart nothing. */
const annotationsAt = (places: readonly Place[]): Place[] =>
  places.flatMap(({ object, path }) =>
    path.includes('template') ? [{ object, path: [...path.slice(0, -1), 'annotations'] }] : [],
  )

/** Whether the annotations of the templates are as they are wanted. */
export const isAnnotated = (places: readonly Place[], wanted: WantedLabels, application: string): boolean =>
  annotationsAt(places).every((place) => !isDifferent(place, wanted, annotationManager(application)))

/** Reconciles the annotations of the templates; makes no call where nothing differs. */
export const annotate = (
  kubernetes: Kubernetes,
  places: readonly Place[],
  wanted: WantedLabels,
  application: string,
): Promise<LabelReport[]> =>
  Promise.all(
    annotationsAt(places).map((place) => reconcileLabels(kubernetes, place, wanted, annotationManager(application))),
  )
