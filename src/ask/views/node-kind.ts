/** An application that runs a mesh, is on one, or is on none. */
export type NodeKind = 'beacon' | 'mesh' | 'off'
