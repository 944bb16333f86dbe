import type { AccessNow, Classified } from '../traffic/classify.ts'

/** All traffic of one client to one application. */
export type Seen = {
  /** As in a flow: `namespace/application`, `namespace/sa/account` or `unknown`. */
  readonly from: string
  /** `namespace/application` */
  readonly to: string
  readonly http: number
  readonly tcp: number
  readonly refused: number
  /** The client used a Service, and the addresses of pods. It may have used both. */
  readonly isToService: boolean
  readonly isToPods: boolean
  readonly access: AccessNow
  /** The identities of the client, `namespace/account`. */
  readonly accounts: readonly string[]
}

/** Adds up flows by client and application. `applicationOf` names the application behind the target of a flow. */
export const addUp = (flows: readonly Classified[], applicationOf: (target: string) => string): Seen[] => {
  const used = flows.filter(({ requests }) => requests > 0)
  const pairs = Map.groupBy(used, ({ from, to }) => `${from} ${applicationOf(to)}`)
  return [...pairs.values()]
    .flatMap((ofPair) => ofPair.slice(0, 1).map((first) => seenIn(first, applicationOf(first.to), ofPair)))
    .toSorted((one, other) => (`${one.to} ${one.from}` < `${other.to} ${other.from}` ? -1 : 1))
}

const seenIn = ({ from }: Classified, to: string, flows: readonly Classified[]): Seen => {
  const sum = (of: (flow: Classified) => number) => flows.reduce((all, flow) => all + of(flow), 0)
  return {
    ...{ from, to },
    http: sum(({ protocol, requests }) => (protocol === 'http' ? requests : 0)),
    tcp: sum(({ protocol, requests }) => (protocol === 'tcp' ? requests : 0)),
    refused: sum(({ refused }) => refused),
    isToService: flows.some(({ ways = ['service'] }) => ways.includes('service')),
    isToPods: flows.some(({ ways = [] }) => ways.includes('pod')),
    access: widest(flows.map(({ access }) => access)),
    accounts: [...new Set(flows.flatMap(({ accounts = [] }) => accounts))].toSorted(),
  }
}

const BY_WIDTH: readonly AccessNow[] = ['open', 'allowed', 'unknown', 'none']

/** An application may have several Services. */
const widest = (all: readonly AccessNow[]): AccessNow => BY_WIDTH.find((one) => all.includes(one)) ?? 'unknown'

/** `12 http requests and 3 connections in the last 24h, 2 refused (13 %)` */
export const evidence = ({ http, tcp, refused, isToService, isToPods }: Seen, window: string): string => {
  const all = http + tcp
  const counted = [
    ...(http > 0 ? [`${http} HTTP ${http === 1 ? 'request' : 'requests'}`] : []),
    ...(tcp > 0 ? [`${tcp} TCP ${tcp === 1 ? 'connection' : 'connections'}`] : []),
  ].join(' and ')
  const parts = [
    `${counted} in the last ${window}`,
    refused === 0 ? 'none refused' : `${refused} refused (${share(refused, all)})`,
    ...(isToPods ? [isToService ? 'some straight to pods' : 'straight to pods'] : []),
  ]
  return parts.join(', ')
}

const share = (part: number, all: number): string => {
  const percent = (100 * part) / all
  return percent < 1 ? 'under 1 %' : `${Math.round(percent)} %`
}
