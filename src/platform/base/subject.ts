/** The application that a step reconciles. */
export type Subject = { readonly namespace: string; readonly application: string }
export const isSameSubject = (one: Subject, other: Subject): boolean =>
  isSameNamespace(one, other) && one.application === other.application

/** Tells if two applications are in one namespace. */
export const isSameNamespace = (one: Pick<Subject, 'namespace'>, other: Pick<Subject, 'namespace'>): boolean =>
  one.namespace === other.namespace

export const subjectName = ({ namespace, application }: Subject): string => `${namespace}/${application}`
