import { createSocket } from 'node:dgram'
import { once } from 'node:events'

/** A name server for IPv4 addresses. */
export type Dns = {
  readonly resolver: string
  /** The types of all questions so far. */
  readonly asked: Set<number>
  stop(): Promise<void>
}

export const A = 1
export const AAAA = 28

/** What `addressOf` has no address of does not exist. https://www.rfc-editor.org/rfc/rfc1035#section-4 */
export const startDns = async (addressOf: (name: string) => string | undefined): Promise<Dns> => {
  const asked = new Set<number>()
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query)
    asked.add(type)
    const known = addressOf(name)
    const answers = known !== undefined && type === A ? [answer(known)] : []
    socket.send(
      Buffer.concat([headerFor(query, known, answers.length), query.subarray(12, end), ...answers]),
      port,
      address,
    )
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    resolver: `127.0.0.1:${socket.address().port}`,
    asked,
    stop: () => new Promise((resolve) => socket.close(resolve)),
  }
}

const headerFor = (query: Buffer, known: string | undefined, answers: number): Buffer => {
  const header = Buffer.alloc(12)
  const NAME_ERROR = 3
  query.copy(header, 0, 0, 2)
  header.writeUInt16BE(0x8580 | (known === undefined ? NAME_ERROR : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(answers, 6)
  return header
}

const questionOf = (query: Buffer): { name: string; type: number; end: number } => {
  const labels: string[] = []
  let offset = 12
  for (let length = query.readUInt8(offset); length > 0; length = query.readUInt8(offset)) {
    labels.push(query.toString('latin1', offset + 1, offset + 1 + length))
    offset += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(offset + 1), end: offset + 5 }
}

/** An address for the name in the question, with a TTL of 0. */
const answer = (address: string): Buffer =>
  Buffer.from([0xc0, 12, 0, A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)])
