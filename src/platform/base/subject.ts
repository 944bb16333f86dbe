/** The application that a step reconciles. */
export type Subject = { readonly namespace: string; readonly application: string }
export const isSameSubject = (one: Subject, other: Subject): boolean =>
  one.namespace === other.namespace && one.application === other.application

export const subjectName = ({ namespace, application }: Subject): string => `${namespace}/${application}`
