/** The application that a step reconciles. */
export type Subject = { readonly namespace: string; readonly application: string }

/** A reference to an application. `namespace` is set only if it is another one than that of whoever refers to it. */
export type RemoteName = { readonly application: string; readonly namespace?: string | undefined }

export const isSameSubject = (one: Subject, other: Subject): boolean =>
  isSameNamespace(one, other) && one.application === other.application

/** Tells if two applications are in one namespace. */
export const isSameNamespace = (one: Pick<Subject, 'namespace'>, other: Pick<Subject, 'namespace'>): boolean =>
  one.namespace === other.namespace

/** Names an application: `namespace/application`. */
export const subjectName = ({ namespace, application }: Subject): string => `${namespace}/${application}`

/** Reads the name of an application. A part that the text does not have is empty. */
export const subjectNamed = (name: string): Subject => {
  const [namespace = '', application = ''] = name.split('/')
  return { namespace, application }
}

/** Returns the namespace of a name that begins with one, such as `shop/db`. */
export const namespaceOf = (name: string): string => name.replace(/\/.*/, '')
