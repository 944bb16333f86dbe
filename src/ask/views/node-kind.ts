/** An application that runs a mesh, is on one, or is on none. Stands alone, as the browser's code is checked without that of the server. */
export type NodeKind = 'beacon' | 'mesh' | 'off'
