/** The namespace of an application's id, `namespace/application`. @param {string} id */
export const namespaceOf = (id) => id.split('/')[0] ?? ''

/** The id of a namespace that is one box on the map. @param {string} namespace */
export const closedId = (namespace) => `namespace ${namespace}`

/** Says what passes along an edge, in one line. @param {{ readonly access: string, readonly label: string }} edge */
export const passing = ({ access, label }) => (access === 'none' ? 'nothing passes' : label.replaceAll('\n', '; '))

/** @param {number} count */
export const counted = (count) => `${count} ${count === 1 ? 'application' : 'applications'}`
