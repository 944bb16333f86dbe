import { expect, test } from 'vitest'
import { readPeerAuthentications } from '../../../src/ask/authorization/peer-authentications.ts'

test('a PeerAuthentication that cannot be read refuses nobody, and a note says so', () => {
  const metadata = { name: 'strict', namespace: 'shop' }
  const peer = (spec: Record<string, unknown>) => ({ apiVersion: '', kind: 'PeerAuthentication', metadata, spec })
  const mtls = { mode: 'STRICT' }
  expect(readPeerAuthentications({ peerAuthentications: [peer({ mtls: { mode: 'MAYBE' } }), peer({ mtls })] })).toEqual(
    {
      peerAuthentications: [{ ...metadata, created: '', selector: undefined, mode: 'STRICT', ports: {} }],
      notes: ['PeerAuthentication shop/strict cannot be read: it is taken to refuse nobody'],
    },
  )
})
